// The page on which a reader chooses channels, and its texts. `{site}` is the page's host. If the browser is not
// subscribed and needs no invitation, the page first offers to turn notifications on.
import { chooseLanguage, directionOf, type Language } from '../choose-language.ts';
import { type Channel, ClientError, createClient } from '../index.ts';
import '../subscribe.ts';

export interface Texts {
  readonly heading: string;
  readonly intro: string;
  readonly saved: string;
  readonly notSaved: string;
  readonly none: string;
  readonly unsubscribed: string;
  readonly lost: string;
  readonly offline: string;
  readonly failed: string;
  readonly retry: string;
}

const textsByLanguage: Readonly<Record<Language, Texts>> = {
  en: {
    heading: 'Your notifications',
    intro: 'Choose what {site} notifies you of. Changes are saved at once.',
    saved: 'Saved.',
    notSaved: 'Your choice was not saved.',
    none: 'There is nothing to choose at the moment.',
    unsubscribed:
      'This browser gets no notifications from {site}. Switch them on where the site offers them, then choose here.',
    lost: 'The server does not know this browser any more. Switch notifications on again where the site offers them, then choose here.',
    offline: 'The server cannot be reached. Check your connection and try again.',
    failed: 'Something went wrong. Try again in a minute.',
    retry: 'Try again',
  },
  de: {
    heading: 'Ihre Benachrichtigungen',
    intro: 'Wählen Sie, worüber {site} Sie benachrichtigt. Änderungen werden sofort gespeichert.',
    saved: 'Gespeichert.',
    notSaved: 'Ihre Auswahl wurde nicht gespeichert.',
    none: 'Zurzeit gibt es nichts auszuwählen.',
    unsubscribed:
      'Dieser Browser erhält keine Benachrichtigungen von {site}. Schalten Sie sie auf der Website ein, und wählen Sie dann hier.',
    lost: 'Der Server kennt diesen Browser nicht mehr. Schalten Sie die Benachrichtigungen auf der Website wieder ein, und wählen Sie dann hier.',
    offline: 'Der Server ist nicht erreichbar. Prüfen Sie Ihre Verbindung, und versuchen Sie es erneut.',
    failed: 'Etwas ist schiefgegangen. Versuchen Sie es in einer Minute erneut.',
    retry: 'Erneut versuchen',
  },
  fr: {
    heading: 'Vos notifications',
    intro: 'Choisissez ce dont {site} vous informe. Les changements sont enregistrés aussitôt.',
    saved: 'Enregistré.',
    notSaved: 'Votre choix n’a pas été enregistré.',
    none: 'Il n’y a rien à choisir pour le moment.',
    unsubscribed:
      'Ce navigateur ne reçoit pas de notifications de {site}. Activez-les sur le site, puis choisissez ici.',
    lost: 'Le serveur ne connaît plus ce navigateur. Réactivez les notifications sur le site, puis choisissez ici.',
    offline: 'Le serveur est injoignable. Vérifiez votre connexion et réessayez.',
    failed: 'Une erreur s’est produite. Réessayez dans une minute.',
    retry: 'Réessayer',
  },
  es: {
    heading: 'Sus notificaciones',
    intro: 'Elija de qué le informa {site}. Los cambios se guardan al momento.',
    saved: 'Guardado.',
    notSaved: 'Su elección no se ha guardado.',
    none: 'Por el momento no hay nada que elegir.',
    unsubscribed:
      'Este navegador no recibe notificaciones de {site}. Actívelas en el sitio web y después elija aquí.',
    lost: 'El servidor ya no conoce este navegador. Vuelva a activar las notificaciones en el sitio web y después elija aquí.',
    offline: 'No se puede contactar con el servidor. Compruebe su conexión e inténtelo de nuevo.',
    failed: 'Algo ha salido mal. Inténtelo de nuevo en un minuto.',
    retry: 'Intentar de nuevo',
  },
  it: {
    heading: 'Le sue notifiche',
    intro: 'Scelga di che cosa {site} la informa. Le modifiche vengono salvate subito.',
    saved: 'Salvato.',
    notSaved: 'La sua scelta non è stata salvata.',
    none: 'Al momento non c’è nulla da scegliere.',
    unsubscribed: 'Questo browser non riceve notifiche da {site}. Le attivi sul sito, poi scelga qui.',
    lost: 'Il server non conosce più questo browser. Riattivi le notifiche sul sito, poi scelga qui.',
    offline: 'Il server non è raggiungibile. Controlli la connessione e riprovi.',
    failed: 'Qualcosa è andato storto. Riprovi tra un minuto.',
    retry: 'Riprova',
  },
  pt: {
    heading: 'As suas notificações',
    intro: 'Escolha sobre o que {site} o informa. As alterações são guardadas de imediato.',
    saved: 'Guardado.',
    notSaved: 'A sua escolha não foi guardada.',
    none: 'De momento, não há nada para escolher.',
    unsubscribed: 'Este navegador não recebe notificações de {site}. Ative-as no site e depois escolha aqui.',
    lost: 'O servidor já não conhece este navegador. Ative de novo as notificações no site e depois escolha aqui.',
    offline: 'Não é possível contactar o servidor. Verifique a ligação e tente novamente.',
    failed: 'Algo correu mal. Tente novamente dentro de um minuto.',
    retry: 'Tentar novamente',
  },
  nl: {
    heading: 'Uw meldingen',
    intro: 'Kies waarover {site} u meldingen stuurt. Wijzigingen worden meteen opgeslagen.',
    saved: 'Opgeslagen.',
    notSaved: 'Uw keuze is niet opgeslagen.',
    none: 'Er valt op dit moment niets te kiezen.',
    unsubscribed:
      'Deze browser krijgt geen meldingen van {site}. Zet ze aan op de website en kies daarna hier.',
    lost: 'De server kent deze browser niet meer. Zet de meldingen op de website weer aan en kies daarna hier.',
    offline: 'De server is niet bereikbaar. Controleer uw verbinding en probeer het opnieuw.',
    failed: 'Er ging iets mis. Probeer het over een minuut opnieuw.',
    retry: 'Opnieuw proberen',
  },
  pl: {
    heading: 'Twoje powiadomienia',
    intro: 'Wybierz, o czym {site} ma Cię powiadamiać. Zmiany są zapisywane od razu.',
    saved: 'Zapisano.',
    notSaved: 'Twój wybór nie został zapisany.',
    none: 'Obecnie nie ma nic do wyboru.',
    unsubscribed:
      'Ta przeglądarka nie otrzymuje powiadomień z {site}. Włącz je w witrynie, a potem wybierz tutaj.',
    lost: 'Serwer nie zna już tej przeglądarki. Włącz powiadomienia w witrynie ponownie, a potem wybierz tutaj.',
    offline: 'Nie można połączyć się z serwerem. Sprawdź połączenie i spróbuj ponownie.',
    failed: 'Coś poszło nie tak. Spróbuj ponownie za minutę.',
    retry: 'Spróbuj ponownie',
  },
  ja: {
    heading: '通知の設定',
    intro: '{site} からどの通知を受け取るかを選んでください。変更はすぐに保存されます。',
    saved: '保存しました。',
    notSaved: '選択を保存できませんでした。',
    none: '現在、選べる項目はありません。',
    unsubscribed:
      'このブラウザーは {site} の通知を受け取っていません。まずサイトで通知をオンにしてから、ここで選んでください。',
    lost: 'サーバーにこのブラウザーの登録がありません。サイトでもう一度通知をオンにしてから、ここで選んでください。',
    offline: 'サーバーに接続できません。接続を確認して、もう一度お試しください。',
    failed: '問題が発生しました。しばらくしてからもう一度お試しください。',
    retry: 'もう一度試す',
  },
  'zh-Hans': {
    heading: '您的通知',
    intro: '选择您想收到 {site} 的哪些通知。更改会立即保存。',
    saved: '已保存。',
    notSaved: '您的选择未能保存。',
    none: '目前没有可选择的内容。',
    unsubscribed: '此浏览器未接收 {site} 的通知。请先在网站上开启通知，然后在此选择。',
    lost: '服务器上已没有此浏览器的登记。请在网站上重新开启通知，然后在此选择。',
    offline: '无法连接服务器。请检查网络连接，然后重试。',
    failed: '出了点问题。请稍后再试。',
    retry: '重试',
  },
  ar: {
    heading: 'إشعاراتك',
    intro: 'اختر ما تريد أن يُعلمك به {site}. تُحفظ التغييرات فورًا.',
    saved: 'تم الحفظ.',
    notSaved: 'لم يُحفظ اختيارك.',
    none: 'لا يوجد ما يمكن اختياره حاليًا.',
    unsubscribed: 'لا يتلقى هذا المتصفح إشعارات من {site}. شغّلها في الموقع، ثم اختر هنا.',
    lost: 'لم يعد الخادم يعرف هذا المتصفح. شغّل الإشعارات في الموقع من جديد، ثم اختر هنا.',
    offline: 'يتعذر الوصول إلى الخادم. تحقق من اتصالك وحاول مرة أخرى.',
    failed: 'حدث خطأ ما. حاول مرة أخرى بعد دقيقة.',
    retry: 'حاول مرة أخرى',
  },
};

function chooseTexts(wanted: readonly string[]): { readonly lang: Language; readonly texts: Texts } {
  const lang = chooseLanguage(wanted);
  return { lang, texts: textsByLanguage[lang] };
}

const { lang, texts } = chooseTexts(navigator.languages);
const element = (id: string): HTMLElement => document.getElementById(id)!;
const main = element('preferences');
const list = element('channels');
const retry = element('retry');

const offer = document.querySelector('deskbell-subscribe')!;
const isInvitedOnly = document.body.dataset['registrations'] === 'invited';

const client = createClient();
offer.client = client;
document.documentElement.lang = lang;
document.documentElement.dir = directionOf(lang);
document.title = `${texts.heading} – ${location.host}`;
element('heading').textContent = texts.heading;
element('intro').textContent = fill(texts.intro);
retry.textContent = texts.retry;
main.hidden = false;
retry.addEventListener('click', async () => {
  await load(client.resync());
  if (retry.hidden) focusFirst();
});
offer.addEventListener('deskbell-change', async () => {
  // the event may fire again while the channels are loading
  if (offer.hidden || main.ariaBusy === 'true' || offer.getAttribute('state') !== 'subscribed') return;
  await load(Promise.resolve());
  if (offer.hidden) focusFirst();
});
await load(client.synced);

/** After success the button that had the focus is hidden. */
function focusFirst(): void {
  list.querySelector('input')?.focus();
}

/** @param synced resolves when the service has the subscription */
async function load(synced: Promise<unknown>): Promise<void> {
  main.ariaBusy = 'true';
  try {
    await synced;
    const channels = await client.channels();
    list.replaceChildren(...channels.map(itemOf));
    show(channels);
    say(channels.length === 0 ? texts.none : '');
  } catch (error) {
    say('', error);
  }
  main.ariaBusy = 'false';
}

function show(channels: readonly Channel[]): void {
  for (const { name, isOn } of channels) {
    const input = list.querySelector<HTMLInputElement>(`[name="${name}"]`);
    if (input) input.checked = isOn;
  }
}

function itemOf({ name, title, language = '' }: Channel): HTMLLIElement {
  const words = document.createElement('span');
  words.textContent = title;
  words.lang = language;
  words.dir = 'auto';
  const input = document.createElement('input');
  input.type = 'checkbox';
  input.setAttribute('role', 'switch');
  input.name = name;
  input.addEventListener('change', async () => {
    const { checked } = input;
    say('');
    try {
      show(await client.setChannels({ [name]: checked }));
      say(texts.saved);
    } catch (error) {
      input.checked = !checked;
      say('', error, `${texts.notSaved} `);
    }
  });
  const label = document.createElement('label');
  label.append(words, input);
  const item = document.createElement('li');
  item.append(label);
  return item;
}

function say(status: string, error?: unknown, before = ''): void {
  const problem = error === undefined ? undefined : problemOf(error);
  const isNew = problem === 'unsubscribed';
  offer.hidden = !isNew || isInvitedOnly;
  element('status').textContent = isNew && isInvitedOnly ? fill(texts.unsubscribed) : status;
  element('intro').hidden = list.childElementCount === 0;
  element('problem').textContent = problem && !isNew ? before + fill(texts[problem]) : '';
  retry.hidden = problem !== 'offline' && problem !== 'failed';
}

function problemOf(error: unknown): 'unsubscribed' | 'lost' | 'offline' | 'failed' {
  if (!(error instanceof ClientError)) return 'failed';
  const { reason, status = 0 } = error;
  if (reason === 'server-unreachable' || reason === 'push-service-unreachable') return 'offline';
  // the service no longer has this browser's subscription and does not accept it
  if (reason === 'server-refused') return status === 401 || status === 403 ? 'lost' : 'failed';
  return list.childElementCount > 0 ? 'lost' : 'unsubscribed';
}

function fill(text: string): string {
  return text.replace('{site}', location.host);
}
