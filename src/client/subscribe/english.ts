// The element's texts in English; languages.ts has the others. `{site}` is the page's host, `{count}` a number.

export const english = {
  turnOn: 'Turn on notifications',
  turnOff: 'Turn off',
  why: 'Get news from {site} on this device, even when this page is closed. Your browser asks first.',
  on: 'Notifications are on. They show on this device, even when this page is closed.',
  unsupported: 'This browser cannot show notifications. Use a current Firefox, Chrome, Edge or Safari.',
  homeScreen:
    'First add this page to the Home Screen: press Share, choose “Add to Home Screen”, and open it from there.',
  insecure: 'Notifications need a secure connection: open this page with https.',
  privateWindow: 'Notifications do not work in a private window. Open this page in an ordinary one.',
  blocked:
    'Notifications are blocked. Allow them in the settings of this site, beside its address, and load the page again. In a private window, use an ordinary one.',
  dismissed: 'You have not chosen yet. Try again, and choose “Allow” when your browser asks.',
  brave:
    'Brave has push messages switched off. Switch on “Use Google services for push messaging” at brave://settings/privacy, restart Brave, and try again.',
  offline: 'There is no connection. Check that you are online, and try again.',
  worker: 'This page cannot turn on notifications. Tell the owner of {site}.',
  failed: 'Something went wrong. Try again in a minute.',
  channels: 'What you get',
  history: 'Recent notifications',
  nothing: 'Nothing yet.',
  unread: 'New: {count}',
};

export type Texts = typeof english;
