// Writes the VAPID pair of a data directory, in place of all that are there where that is forced.
import { join } from 'node:path';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import {
  readKeyRing,
  readPairFile,
  removeKeyPair,
  vapidFileName,
  writeKeyFile,
} from '../../keys/vapid-key-files.ts';
import type { VapidKeys } from '../../protocol/vapid-token.ts';
import type { Store } from '../../store/store.ts';
import { databasePathOf, makeDirectory, openStore } from './data-directory.ts';
import { exists } from './open-data.ts';

/**
 * @param options `force`: replaces the pairs that are there, and so loses their subscribers
 * @returns false where this pair is the current one already
 * @throws {DeskbellError} ERR_KEY_FILE_EXISTS, ERR_VAPID_KEY_INVALID, ERR_FILE, ERR_STORE_UNAVAILABLE
 */
export async function replaceKeys(
  directory: string,
  keys: VapidKeys,
  { force, database }: { readonly force: boolean; readonly database?: string | undefined },
): Promise<boolean> {
  const isThere = database !== undefined || (await exists(databasePathOf(directory)));
  const store = isThere ? await openStore(directory, { database }) : undefined;
  try {
    if (store !== undefined && !force) await assertNoSubscribersLost(directory, store, keys);
    const current = await store?.vapidKeys.current();
    const isCurrent = current === keys.publicKey;
    if (!force && (isCurrent || current === undefined)) {
      const there = await readPairFile(join(directory, vapidFileName));
      if (there?.publicKey === keys.publicKey) return false;
    }
    await makeDirectory(directory);
    await writeKeyFile(directory, keys, { force });
    if (force || !isCurrent) await store?.vapidKeys.replaceAll(keys.publicKey);
  } finally {
    await store?.close();
  }
  if (!force) return true;
  const [, ...others] = await readKeyRing(directory);
  for (const { publicKey } of others) await removeKeyPair(directory, publicKey);
  return true;
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
