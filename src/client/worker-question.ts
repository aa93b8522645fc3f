// The page library asks this; only a service worker with Deskbell answers.

export const question = 'Is Deskbell here?';
