import { createSender, openDataDirectory } from 'deskbell';

const { store, vapidKeys, sessionKey } = await openDataDirectory(
  process.env.DESKBELL_DATA ?? 'deskbell-data',
);
export const service = { store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true };
export const sender = createSender({ store, vapid: { ...vapidKeys, subject: 'mailto:you@example.org' } });
