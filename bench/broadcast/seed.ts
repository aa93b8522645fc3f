// Fills a data directory with subscriptions of distinct keys and endpoints at one push service.
import { createECDH, randomBytes } from 'node:crypto';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';

const rowsAtOnce = 5000;

/**
 * @param directory is made where there is none
 * @param database URL of PostgreSQL; without it, the rows are in the directory
 */
export async function seedSubscriptions(
  directory: string,
  origin: string,
  rows: number,
  database?: string,
): Promise<void> {
  const { store, vapidKeys, close } = await openDataDirectory(directory, { database });
  const ecdh = createECDH('prime256v1');
  for (let first = 0; first < rows; first += rowsAtOnce) {
    await store.subscriptions.putAll(
      Array.from({ length: Math.min(rowsAtOnce, rows - first) }, (_, index) => ({
        subscription: {
          // as long as the endpoints of the large push services
          endpoint: `${origin}/push/${first + index}/${randomBytes(105).toString('base64url')}`,
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
