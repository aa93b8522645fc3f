// Writes the VAPID pair of a data directory, in place of all that are there where that is forced.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import { writeKeyFile } from '../../keys/key-file.ts';
import { readKeyRing, removeKeyPair } from '../../keys/key-ring.ts';
import type { VapidKeys } from '../../protocol/vapid-token.ts';
import type { Store } from '../../store/store.ts';
import { databasePathOf, makeDirectory, openStore } from './data-directory.ts';
import { exists } from './open-data.ts';

/**
 * @param options `force`: replaces the pairs that are there, and so loses their subscribers
 * @throws {DeskbellError} ERR_KEY_FILE_EXISTS, ERR_VAPID_KEY_INVALID, ERR_FILE, ERR_STORE_UNAVAILABLE
 */
export async function replaceKeys(
  directory: string,
  keys: VapidKeys,
  { force, database }: { readonly force: boolean; readonly database?: string | undefined },
): Promise<void> {
  const isThere = database !== undefined || (await exists(databasePathOf(directory)));
  const store = isThere ? await openStore(directory, { database }) : undefined;
  try {
    if (store !== undefined && !force) await assertNoSubscribersLost(directory, store, keys);
    await makeDirectory(directory);
    await writeKeyFile(directory, keys, { force });
    const isCurrent = (await store?.vapidKeys.current()) === keys.publicKey;
    if (force || !isCurrent) await store?.vapidKeys.replaceAll(keys.publicKey);
  } finally {
    await store?.close();
  }
  if (!force) return;
  const [, ...others] = await readKeyRing(directory);
  for (const { publicKey } of others) await removeKeyPair(directory, publicKey);
}

/** A lost key file beside a database with subscribers asks for a backup, not for a new pair. */
async function assertNoSubscribersLost(
  directory: string,
  { subscriptions, vapidKeys }: Store,
  keys: VapidKeys,
): Promise<void> {
  const [first] = await subscriptions.page({ afterId: 0, limit: 1 });
  if (first === undefined) return;
  const current = (await vapidKeys.current()) ?? first.vapidPublicKey;
  if (current === keys.publicKey) return;
  throw new DeskbellError(
    'ERR_KEY_FILE_EXISTS',
    `${directory} has ${countOf(await subscriptions.count(), 'subscription')} made with another pair`,
  );
}
