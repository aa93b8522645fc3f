// Subscriptions as browsers send them, as many as a test wants, each with an endpoint of its own.
import { createECDH, randomBytes } from 'node:crypto';

export type ExampleSubscription = ReturnType<typeof exampleSubscription>;

const p256dh = createECDH('prime256v1').generateKeys('base64url');

/** All of them share one key: what the tests here are about is not encryption. */
export function exampleSubscription(name: string | number) {
  return {
    endpoint: `https://updates.push.services.mozilla.com/wpush/v2/example-${name}`,
    keys: { p256dh, auth: randomBytes(16).toString('base64url') },
  };
}
