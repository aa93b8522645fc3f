// Fills a data directory with subscriptions of distinct keys and endpoints.
import { createECDH, randomBytes } from 'node:crypto';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';

const rowsAtOnce = 5000;

/**
 * @param directory is made if there is none
 * @param origins of the push services; they take turns
 * @param database URL of PostgreSQL; without it, the rows are in the directory
 */
export async function seedSubscriptions(
  directory: string,
  origins: string | readonly string[],
  rows: number,
  database?: string,
): Promise<void> {
  const { store, vapidKeys, close } = await openDataDirectory(directory, { database });
  const turns = [origins].flat();
  const ecdh = createECDH('prime256v1');
  for (let first = 0; first < rows; first += rowsAtOnce) {
    await store.subscriptions.putAll(
      Array.from({ length: Math.min(rowsAtOnce, rows - first) }, (_, index) => ({
        subscription: {
          // as long as the endpoints of the large push services
          endpoint: `${turns[(first + index) % turns.length]}/push/${first + index}/${randomBytes(105).toString('base64url')}`,
          p256dh: new Uint8Array(ecdh.generateKeys()),
          auth: new Uint8Array(randomBytes(16)),
        },
        vapidPublicKey: vapidKeys.publicKey,
      })),
    );
  }
  await close();
}

/** The number of the subscription whose endpoint has this path. */
export function numberOfPath(path: string): number {
  return Number(path.split('/', 3)[2]);
}
