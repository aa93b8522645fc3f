// What the page library asks a service worker that may be without Deskbell; any answer says that it is not.

export const question = 'Is Deskbell here?';
