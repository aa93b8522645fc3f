// The page on which a reader chooses channels: `<deskbell-subscribe channels>` with a heading and an introduction.
import { chooseLanguage, directionOf, type Language } from '../choose-language.ts';
import { type ClientError, createClient } from '../index.ts';
import '../subscribe.ts';

/** `{site}` is the page's host. */
interface Texts {
  readonly heading: string;
  readonly intro: string;
  /** Shown instead of the element if this page cannot subscribe the browser, but another page may. */
  readonly elsewhere: string;
}

const textsByLanguage: Readonly<Record<Language, Texts>> = {
  en: {
    heading: 'Your notifications',
    intro: 'Choose what {site} notifies you of. Changes are saved at once.',
    elsewhere:
      'This browser gets no notifications from {site}. Switch them on where the site offers them, then choose here.',
  },
  de: {
    heading: 'Ihre Benachrichtigungen',
    intro: 'Wählen Sie, worüber {site} Sie benachrichtigt. Änderungen werden sofort gespeichert.',
    elsewhere:
      'Dieser Browser erhält keine Benachrichtigungen von {site}. Schalten Sie sie auf der Website ein, und wählen Sie dann hier.',
  },
  fr: {
    heading: 'Vos notifications',
    intro: 'Choisissez ce dont {site} vous informe. Les changements sont enregistrés aussitôt.',
    elsewhere:
      'Ce navigateur ne reçoit pas de notifications de {site}. Activez-les sur le site, puis choisissez ici.',
  },
  es: {
    heading: 'Sus notificaciones',
    intro: 'Elija de qué le informa {site}. Los cambios se guardan al momento.',
    elsewhere:
      'Este navegador no recibe notificaciones de {site}. Actívelas en el sitio web y después elija aquí.',
  },
  it: {
    heading: 'Le sue notifiche',
    intro: 'Scelga di che cosa {site} la informa. Le modifiche vengono salvate subito.',
    elsewhere: 'Questo browser non riceve notifiche da {site}. Le attivi sul sito, poi scelga qui.',
  },
  pt: {
    heading: 'As suas notificações',
    intro: 'Escolha sobre o que {site} o informa. As alterações são guardadas de imediato.',
    elsewhere: 'Este navegador não recebe notificações de {site}. Ative-as no site e depois escolha aqui.',
  },
  nl: {
    heading: 'Uw meldingen',
    intro: 'Kies waarover {site} u meldingen stuurt. Wijzigingen worden meteen opgeslagen.',
    elsewhere: 'Deze browser krijgt geen meldingen van {site}. Zet ze aan op de website en kies daarna hier.',
  },
  pl: {
    heading: 'Twoje powiadomienia',
    intro: 'Wybierz, o czym {site} ma Cię powiadamiać. Zmiany są zapisywane od razu.',
    elsewhere:
      'Ta przeglądarka nie otrzymuje powiadomień z {site}. Włącz je w witrynie, a potem wybierz tutaj.',
  },
  ja: {
    heading: '通知の設定',
    intro: '{site} からどの通知を受け取るかを選んでください。変更はすぐに保存されます。',
    elsewhere:
      'このブラウザーは {site} の通知を受け取っていません。まずサイトで通知をオンにしてから、ここで選んでください。',
  },
  'zh-Hans': {
    heading: '您的通知',
    intro: '选择您想收到 {site} 的哪些通知。更改会立即保存。',
    elsewhere: '此浏览器未接收 {site} 的通知。请先在网站上开启通知，然后在此选择。',
  },
  ar: {
    heading: 'إشعاراتك',
    intro: 'اختر ما تريد أن يُعلمك به {site}. تُحفظ التغييرات فورًا.',
    elsewhere: 'لا يتلقى هذا المتصفح إشعارات من {site}. شغّلها في الموقع، ثم اختر هنا.',
  },
};

const lang = chooseLanguage(navigator.languages);
const texts = textsByLanguage[lang];
const element = (id: string): HTMLElement => document.getElementById(id)!;
const intro = element('intro');
const chooser = document.querySelector('deskbell-subscribe')!;
const isInvitedOnly = document.body.dataset['registrations'] === 'invited';
/** True if the service does not know this browser, or refuses its requests. */
let isLost = false;

chooser.client = createClient();
chooser.addEventListener('deskbell-error', (event) => {
  const { reason, status = 0 } = (event as CustomEvent<ClientError>).detail;
  isLost = reason === 'not-subscribed' || status === 401 || status === 403;
});
chooser.addEventListener('deskbell-change', () => {
  chooser.hidden = isLost || (isInvitedOnly && chooser.getAttribute('state') === 'unsubscribed');
  introduce();
});
document.documentElement.lang = lang;
document.documentElement.dir = directionOf(lang);
document.title = `${texts.heading} – ${location.host}`;
element('heading').textContent = texts.heading;
introduce();
element('preferences').hidden = false;

/** Sets the text only if it changes: screen readers read a text again whenever it is set. */
function introduce(): void {
  const text = (chooser.hidden ? texts.elsewhere : texts.intro).replace('{site}', location.host);
  if (intro.textContent !== text) intro.textContent = text;
}
