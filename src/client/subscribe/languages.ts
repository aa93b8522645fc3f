// The texts of `<deskbell-subscribe>` in languages other than English. A page loads this file only if it needs it.
import type { Language } from '../choose-language.ts';
import type { Texts } from './english.ts';

export const languages: Readonly<Record<Exclude<Language, 'en'>, Texts>> = {
  de: {
    turnOn: 'Benachrichtigungen einschalten',
    turnOff: 'Ausschalten',
    why: 'Erhalten Sie Neues von {site} auf diesem Gerät, auch wenn diese Seite geschlossen ist. Ihr Browser fragt zuerst.',
    on: 'Benachrichtigungen sind eingeschaltet. Sie erscheinen auf diesem Gerät, auch wenn diese Seite geschlossen ist.',
    unsupported:
      'Dieser Browser kann keine Benachrichtigungen anzeigen. Verwenden Sie einen aktuellen Firefox, Chrome, Edge oder Safari.',
    homeScreen:
      'Fügen Sie diese Seite zuerst zum Home-Bildschirm hinzu: Tippen Sie auf „Teilen“, wählen Sie „Zum Home-Bildschirm“, und öffnen Sie sie von dort.',
    insecure: 'Benachrichtigungen brauchen eine sichere Verbindung: Öffnen Sie diese Seite mit https.',
    privateWindow:
      'In einem privaten Fenster gibt es keine Benachrichtigungen. Öffnen Sie diese Seite in einem gewöhnlichen.',
    blocked:
      'Benachrichtigungen sind blockiert. Erlauben Sie sie in den Einstellungen dieser Website neben der Adresse, und laden Sie die Seite neu. Verwenden Sie statt eines privaten Fensters ein gewöhnliches.',
    dismissed:
      'Sie haben noch nicht gewählt. Versuchen Sie es erneut, und wählen Sie „Erlauben“, wenn Ihr Browser fragt.',
    brave:
      'In Brave sind Push-Nachrichten ausgeschaltet. Schalten Sie unter brave://settings/privacy „Google-Dienste für Push-Nachrichten verwenden“ ein, starten Sie Brave neu, und versuchen Sie es erneut.',
    offline: 'Es gibt keine Verbindung. Prüfen Sie, ob Sie online sind, und versuchen Sie es erneut.',
    worker: 'Diese Seite kann keine Benachrichtigungen einrichten. Sagen Sie es dem Betreiber von {site}.',
    failed: 'Etwas ist schiefgegangen. Versuchen Sie es in einer Minute erneut.',
    channels: 'Was Sie erhalten',
    history: 'Letzte Benachrichtigungen',
    nothing: 'Noch nichts.',
    unread: 'Neu: {count}',
  },
  fr: {
    turnOn: 'Activer les notifications',
    turnOff: 'Désactiver',
    why: 'Recevez les nouvelles de {site} sur cet appareil, même quand cette page est fermée. Votre navigateur vous le demande d’abord.',
    on: 'Les notifications sont activées. Elles s’affichent sur cet appareil, même quand cette page est fermée.',
    unsupported:
      'Ce navigateur ne peut pas afficher de notifications. Utilisez une version récente de Firefox, Chrome, Edge ou Safari.',
    homeScreen:
      'Ajoutez d’abord cette page à l’écran d’accueil : touchez Partager, choisissez « Sur l’écran d’accueil », puis ouvrez-la de là.',
    insecure: 'Les notifications exigent une connexion sécurisée : ouvrez cette page en https.',
    privateWindow:
      'Les notifications ne fonctionnent pas dans une fenêtre privée. Ouvrez cette page dans une fenêtre ordinaire.',
    blocked:
      'Les notifications sont bloquées. Autorisez-les dans les réglages de ce site, à côté de son adresse, puis rechargez la page. Au lieu d’une fenêtre privée, utilisez une fenêtre ordinaire.',
    dismissed:
      'Vous n’avez pas encore choisi. Réessayez, et choisissez « Autoriser » quand votre navigateur le demande.',
    brave:
      'Dans Brave, les messages push sont désactivés. Activez « Utiliser les services Google pour la messagerie push » dans brave://settings/privacy, redémarrez Brave et réessayez.',
    offline: 'Il n’y a pas de connexion. Vérifiez que vous êtes en ligne et réessayez.',
    worker: 'Cette page ne peut pas activer les notifications. Prévenez le responsable de {site}.',
    failed: 'Une erreur s’est produite. Réessayez dans une minute.',
    channels: 'Ce que vous recevez',
    history: 'Notifications récentes',
    nothing: 'Rien pour le moment.',
    unread: 'Nouvelles : {count}',
  },
  es: {
    turnOn: 'Activar las notificaciones',
    turnOff: 'Desactivar',
    why: 'Reciba novedades de {site} en este dispositivo, aunque esta página esté cerrada. Su navegador se lo preguntará primero.',
    on: 'Las notificaciones están activadas. Aparecen en este dispositivo, aunque esta página esté cerrada.',
    unsupported:
      'Este navegador no puede mostrar notificaciones. Utilice una versión actual de Firefox, Chrome, Edge o Safari.',
    homeScreen:
      'Añada primero esta página a la pantalla de inicio: pulse Compartir, elija «Añadir a pantalla de inicio» y ábrala desde allí.',
    insecure: 'Las notificaciones necesitan una conexión segura: abra esta página con https.',
    privateWindow: 'Las notificaciones no funcionan en una ventana privada. Abra esta página en una normal.',
    blocked:
      'Las notificaciones están bloqueadas. Permítalas en los ajustes de este sitio, junto a su dirección, y vuelva a cargar la página. En lugar de una ventana privada, use una normal.',
    dismissed: 'Aún no ha elegido. Inténtelo de nuevo y elija «Permitir» cuando su navegador pregunte.',
    brave:
      'En Brave los mensajes push están desactivados. Active «Usar los servicios de Google para la mensajería push» en brave://settings/privacy, reinicie Brave e inténtelo de nuevo.',
    offline: 'No hay conexión. Compruebe que está en línea e inténtelo de nuevo.',
    worker: 'Esta página no puede activar las notificaciones. Avise al responsable de {site}.',
    failed: 'Algo ha salido mal. Inténtelo de nuevo en un minuto.',
    channels: 'Lo que recibe',
    history: 'Notificaciones recientes',
    nothing: 'Nada todavía.',
    unread: 'Nuevas: {count}',
  },
  it: {
    turnOn: 'Attiva le notifiche',
    turnOff: 'Disattiva',
    why: 'Riceva le novità di {site} su questo dispositivo, anche quando questa pagina è chiusa. Prima il browser chiede il permesso.',
    on: 'Le notifiche sono attive. Appaiono su questo dispositivo, anche quando questa pagina è chiusa.',
    unsupported:
      'Questo browser non può mostrare notifiche. Usi una versione recente di Firefox, Chrome, Edge o Safari.',
    homeScreen:
      'Aggiunga prima questa pagina alla schermata Home: tocchi Condividi, scelga «Aggiungi alla schermata Home» e la apra da lì.',
    insecure: 'Le notifiche richiedono una connessione sicura: apra questa pagina con https.',
    privateWindow:
      'Le notifiche non funzionano in una finestra privata. Apra questa pagina in una finestra normale.',
    blocked:
      'Le notifiche sono bloccate. Le consenta nelle impostazioni di questo sito, accanto al suo indirizzo, e ricarichi la pagina. Al posto di una finestra privata ne usi una normale.',
    dismissed: 'Non ha ancora scelto. Riprovi e scelga «Consenti» quando il browser lo chiede.',
    brave:
      'In Brave i messaggi push sono disattivati. Attivi «Usa i servizi Google per i messaggi push» in brave://settings/privacy, riavvii Brave e riprovi.',
    offline: 'Non c’è connessione. Controlli di essere in linea e riprovi.',
    worker: 'Questa pagina non può attivare le notifiche. Avvisi il gestore di {site}.',
    failed: 'Qualcosa è andato storto. Riprovi tra un minuto.',
    channels: 'Che cosa riceve',
    history: 'Notifiche recenti',
    nothing: 'Ancora nulla.',
    unread: 'Nuove: {count}',
  },
  pt: {
    turnOn: 'Ativar as notificações',
    turnOff: 'Desativar',
    why: 'Receba novidades de {site} neste dispositivo, mesmo com esta página fechada. O seu navegador pergunta primeiro.',
    on: 'As notificações estão ativas. Aparecem neste dispositivo, mesmo com esta página fechada.',
    unsupported:
      'Este navegador não consegue mostrar notificações. Use uma versão atual do Firefox, Chrome, Edge ou Safari.',
    homeScreen:
      'Adicione primeiro esta página ao ecrã principal: toque em Partilhar, escolha «Adicionar ao ecrã principal» e abra-a a partir daí.',
    insecure: 'As notificações precisam de uma ligação segura: abra esta página com https.',
    privateWindow: 'As notificações não funcionam numa janela privada. Abra esta página numa janela normal.',
    blocked:
      'As notificações estão bloqueadas. Permita-as nas definições deste site, junto ao endereço, e recarregue a página. Em vez de uma janela privada, use uma normal.',
    dismissed: 'Ainda não escolheu. Tente novamente e escolha «Permitir» quando o navegador perguntar.',
    brave:
      'No Brave, as mensagens push estão desligadas. Ative «Utilizar os serviços Google para mensagens push» em brave://settings/privacy, reinicie o Brave e tente novamente.',
    offline: 'Não há ligação. Verifique se está online e tente novamente.',
    worker: 'Esta página não consegue ativar as notificações. Avise o responsável por {site}.',
    failed: 'Algo correu mal. Tente novamente dentro de um minuto.',
    channels: 'O que recebe',
    history: 'Notificações recentes',
    nothing: 'Ainda nada.',
    unread: 'Novas: {count}',
  },
  nl: {
    turnOn: 'Meldingen aanzetten',
    turnOff: 'Uitzetten',
    why: 'Ontvang nieuws van {site} op dit apparaat, ook als deze pagina gesloten is. Uw browser vraagt het eerst.',
    on: 'Meldingen staan aan. Ze verschijnen op dit apparaat, ook als deze pagina gesloten is.',
    unsupported:
      'Deze browser kan geen meldingen tonen. Gebruik een recente Firefox, Chrome, Edge of Safari.',
    homeScreen:
      'Zet deze pagina eerst op het beginscherm: tik op Deel, kies ‘Zet op beginscherm’ en open haar vandaar.',
    insecure: 'Meldingen hebben een beveiligde verbinding nodig: open deze pagina met https.',
    privateWindow: 'Meldingen werken niet in een privévenster. Open deze pagina in een gewoon venster.',
    blocked:
      'Meldingen zijn geblokkeerd. Sta ze toe in de instellingen van deze site, naast het adres, en laad de pagina opnieuw. Gebruik in plaats van een privévenster een gewoon venster.',
    dismissed: 'U hebt nog niet gekozen. Probeer het opnieuw en kies ‘Toestaan’ als uw browser het vraagt.',
    brave:
      'In Brave staan pushberichten uit. Zet ‘Google-services gebruiken voor pushberichten’ aan op brave://settings/privacy, herstart Brave en probeer het opnieuw.',
    offline: 'Er is geen verbinding. Controleer of u online bent en probeer het opnieuw.',
    worker: 'Deze pagina kan geen meldingen aanzetten. Meld het de beheerder van {site}.',
    failed: 'Er ging iets mis. Probeer het over een minuut opnieuw.',
    channels: 'Wat u ontvangt',
    history: 'Recente meldingen',
    nothing: 'Nog niets.',
    unread: 'Nieuw: {count}',
  },
  pl: {
    turnOn: 'Włącz powiadomienia',
    turnOff: 'Wyłącz',
    why: 'Otrzymuj nowości z {site} na tym urządzeniu, także gdy ta strona jest zamknięta. Przeglądarka najpierw zapyta.',
    on: 'Powiadomienia są włączone. Pojawiają się na tym urządzeniu, także gdy ta strona jest zamknięta.',
    unsupported:
      'Ta przeglądarka nie może pokazywać powiadomień. Użyj aktualnej wersji Firefoksa, Chrome, Edge lub Safari.',
    homeScreen:
      'Najpierw dodaj tę stronę do ekranu początkowego: dotknij Udostępnij, wybierz „Do ekranu początkowego” i otwórz ją stamtąd.',
    insecure: 'Powiadomienia wymagają bezpiecznego połączenia: otwórz tę stronę przez https.',
    privateWindow: 'Powiadomienia nie działają w oknie prywatnym. Otwórz tę stronę w zwykłym oknie.',
    blocked:
      'Powiadomienia są zablokowane. Zezwól na nie w ustawieniach tej witryny, obok adresu, i wczytaj stronę ponownie. Zamiast okna prywatnego użyj zwykłego.',
    dismissed: 'Nie dokonano jeszcze wyboru. Spróbuj ponownie i wybierz „Zezwól”, gdy przeglądarka zapyta.',
    brave:
      'W Brave wiadomości push są wyłączone. Włącz „Używaj usług Google do wiadomości push” w brave://settings/privacy, uruchom Brave ponownie i spróbuj jeszcze raz.',
    offline: 'Brak połączenia. Sprawdź, czy masz dostęp do internetu, i spróbuj ponownie.',
    worker: 'Ta strona nie może włączyć powiadomień. Powiadom właściciela {site}.',
    failed: 'Coś poszło nie tak. Spróbuj ponownie za minutę.',
    channels: 'Co otrzymujesz',
    history: 'Ostatnie powiadomienia',
    nothing: 'Jeszcze nic.',
    unread: 'Nowe: {count}',
  },
  ja: {
    turnOn: '通知をオンにする',
    turnOff: 'オフにする',
    why: 'このページを閉じていても、{site} のお知らせをこの端末で受け取れます。先にブラウザーが確認します。',
    on: '通知はオンです。このページを閉じていても、この端末に表示されます。',
    unsupported:
      'このブラウザーは通知を表示できません。最新の Firefox、Chrome、Edge、Safari をお使いください。',
    homeScreen:
      '先にこのページをホーム画面に追加してください。共有ボタンから「ホーム画面に追加」を選び、そこから開きます。',
    insecure: '通知には安全な接続が必要です。このページを https で開いてください。',
    privateWindow: 'プライベートウィンドウでは通知を使えません。通常のウィンドウで開いてください。',
    blocked:
      '通知がブロックされています。アドレスの横にあるサイトの設定で許可し、ページを再読み込みしてください。プライベートウィンドウの場合は、通常のウィンドウをお使いください。',
    dismissed: 'まだ選択されていません。もう一度試し、ブラウザーの確認で「許可」を選んでください。',
    brave:
      'Brave でプッシュメッセージがオフになっています。brave://settings/privacy で「Google のサービスをプッシュメッセージに使用する」をオンにし、Brave を再起動して、もう一度お試しください。',
    offline: '接続できません。オンラインかどうかを確認して、もう一度お試しください。',
    worker: 'このページは通知をオンにできません。{site} にお知らせください。',
    failed: '問題が発生しました。しばらくしてからもう一度お試しください。',
    channels: '受け取るもの',
    history: '最近の通知',
    nothing: 'まだありません。',
    unread: '新着: {count}',
  },
  'zh-Hans': {
    turnOn: '开启通知',
    turnOff: '关闭',
    why: '即使关闭此页面，也能在此设备上收到 {site} 的消息。浏览器会先征求您的同意。',
    on: '通知已开启。即使关闭此页面，通知也会显示在此设备上。',
    unsupported: '此浏览器无法显示通知。请使用最新版的 Firefox、Chrome、Edge 或 Safari。',
    homeScreen: '请先将此页面添加到主屏幕：点按“共享”，选择“添加到主屏幕”，然后从那里打开。',
    insecure: '通知需要安全连接：请用 https 打开此页面。',
    privateWindow: '无痕窗口中无法使用通知。请在普通窗口中打开此页面。',
    blocked:
      '通知已被阻止。请在地址旁的网站设置中允许通知，然后重新加载页面。如果这是无痕窗口，请改用普通窗口。',
    dismissed: '您尚未选择。请重试，并在浏览器询问时选择“允许”。',
    brave:
      'Brave 已关闭推送消息。请在 brave://settings/privacy 中开启“使用 Google 服务推送消息”，重新启动 Brave，然后重试。',
    offline: '没有网络连接。请检查是否在线，然后重试。',
    worker: '此页面无法开启通知。请告知 {site}。',
    failed: '出了点问题。请稍后再试。',
    channels: '您接收的内容',
    history: '最近的通知',
    nothing: '暂时没有。',
    unread: '新: {count}',
  },
  ar: {
    turnOn: 'تشغيل الإشعارات',
    turnOff: 'إيقاف',
    why: 'احصل على جديد {site} على هذا الجهاز، حتى عندما تكون هذه الصفحة مغلقة. سيسألك المتصفح أولًا.',
    on: 'الإشعارات مفعّلة. تظهر على هذا الجهاز، حتى عندما تكون هذه الصفحة مغلقة.',
    unsupported:
      'لا يستطيع هذا المتصفح عرض الإشعارات. استخدم إصدارًا حديثًا من Firefox أو Chrome أو Edge أو Safari.',
    homeScreen:
      'أضف هذه الصفحة أولًا إلى الشاشة الرئيسية: اضغط «مشاركة»، واختر «إضافة إلى الشاشة الرئيسية»، ثم افتحها من هناك.',
    insecure: 'تحتاج الإشعارات إلى اتصال آمن: افتح هذه الصفحة عبر https.',
    privateWindow: 'لا تعمل الإشعارات في نافذة خاصة. افتح هذه الصفحة في نافذة عادية.',
    blocked:
      'الإشعارات محظورة. اسمح بها في إعدادات هذا الموقع، بجانب عنوانه، ثم أعد تحميل الصفحة. بدلًا من نافذة خاصة، استخدم نافذة عادية.',
    dismissed: 'لم تختر بعد. حاول مرة أخرى، واختر «السماح» عندما يسألك المتصفح.',
    brave:
      'رسائل الدفع متوقفة في Brave. شغّل «استخدام خدمات Google لرسائل الدفع» في brave://settings/privacy، ثم أعد تشغيل Brave وحاول مرة أخرى.',
    offline: 'لا يوجد اتصال. تحقق من اتصالك بالإنترنت وحاول مرة أخرى.',
    worker: 'لا تستطيع هذه الصفحة تشغيل الإشعارات. أبلغ مسؤول {site}.',
    failed: 'حدث خطأ ما. حاول مرة أخرى بعد دقيقة.',
    channels: 'ما يصلك',
    history: 'أحدث الإشعارات',
    nothing: 'لا شيء بعد.',
    unread: 'جديد: {count}',
  },
};
