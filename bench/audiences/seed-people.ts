// Fills a database with subscriptions of people with tags. What a key is does not matter here.
import { randomBytes } from 'node:crypto';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';

const rowsAtOnce = 5000;
const vapidPublicKey = `B${'A'.repeat(86)}`;

/** One of so many subscriptions has the tag. */
export const tagShares = { everyone: 1, half: 2, third: 3, some: 50 } as const;

export async function seedPeople(path: string, rows: number): Promise<void> {
  const store = await openSqliteStore({ path });
  for (let first = 0; first < rows; first += rowsAtOnce) {
    await store.subscriptions.putAll(
      Array.from({ length: rowsAtOnce }, (_, index) => ({
        subscription: newSubscription(first + index),
        vapidPublicKey,
        assign: {
          user: `person${Math.floor((first + index) / 3)}`,
          tags: Object.entries(tagShares).flatMap(([tag, share]) =>
            (first + index) % share === 0 ? [tag] : [],
          ),
        },
      })),
    );
  }
  await store.close();
}

/** With an endpoint as long as those of the large push services; in order, since that is sooner stored. */
export function newSubscription(index: number) {
  const name = String(index).padStart(12, '0');
  return {
    endpoint: `https://fcm.googleapis.com/fcm/send/${name}${randomBytes(106).toString('base64url')}`,
    p256dh: new Uint8Array(Buffer.concat([Buffer.of(4), randomBytes(64)])),
    auth: new Uint8Array(randomBytes(16)),
  };
}
