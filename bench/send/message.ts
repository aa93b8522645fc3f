// What every sender sends: the same message, 218 bytes as JSON.
const title = 'A message to everyone who asked for it';
export const message = { title, message: 'Words that fill the body. '.repeat(6).padEnd(155, '.') } as const;
export const payload = JSON.stringify(message);
export const ttlSeconds = 3600;

/** As the senders' documentation wants it; a line of the list that they are handed. */
export interface ListedSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}
