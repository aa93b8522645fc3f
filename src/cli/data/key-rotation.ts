// Writes, rotates and retires the VAPID pairs of a data directory. Every subscription can be reached after each step.
// If a crash interrupts a rotation, the next rotation completes it.
import { join } from 'node:path';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import {
  addKeyPair,
  copyCurrentPair,
  readKeyRing,
  readPairFile,
  removeKeyPair,
  vapidFileName,
  writeKeyFile,
} from '../../keys/vapid-key-files.ts';
import { generateVapidKeys, type VapidKeys } from '../../protocol/vapid.ts';
import type { Store } from '../../store/store.ts';
import type { VapidKeyStore } from '../../store/vapid-keys.ts';
import { databasePathOf, makeDirectory, openStore } from './data-directory.ts';
import { exists } from './open-data.ts';

/**
 * @param options `force`: replaces the existing pairs, which loses their subscribers
 * @returns false if this pair is already the current one
 * @throws {DeskbellError} ERR_KEY_FILE_EXISTS, ERR_FILE, ERR_STORE_UNAVAILABLE
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

/** If a database with subscribers has lost its key file, a backup is needed, not a new pair. */
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

/**
 * Makes a new pair current. Every sender must be able to find the pair before services offer it to browsers.
 *
 * @returns the new public key
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_FILE,
 *   ERR_STORE_UNAVAILABLE
 */
export async function rotateKeys(
  directory: string,
  { vapidKeys }: Pick<Store, 'vapidKeys'>,
): Promise<string> {
  const next = await prepareNext(directory, vapidKeys);
  await vapidKeys.makeCurrent(next.publicKey);
  await copyCurrentPair(directory, next);
  return next.publicKey;
}

/** @returns the next pair, stored in the data directory and the database; concurrent rotations get the same pair */
async function prepareNext(directory: string, vapidKeys: VapidKeyStore): Promise<VapidKeys> {
  const known = (await vapidKeys.list()).find(({ state }) => state === 'next');
  const begun = known && (await findPair(directory, known.publicKey));
  if (begun !== undefined) return begun;
  if (known !== undefined) await vapidKeys.retire(known.publicKey, { force: true });

  const made = generateVapidKeys();
  await addKeyPair(directory, made);
  const publicKey = await vapidKeys.prepare(made.publicKey);
  if (publicKey === made.publicKey) return made;
  await removeKeyPair(directory, made.publicKey);
  const other = await findPair(directory, publicKey);
  if (other !== undefined) return other;
  throw new DeskbellError(
    'ERR_KEY_FILE_MISSING',
    `No key file in ${directory} has the private half of the next key ${publicKey}.`,
  );
}

async function findPair(directory: string, wanted: string): Promise<VapidKeys | undefined> {
  return (await readKeyRing(directory)).find(({ publicKey }) => publicKey === wanted);
}

/**
 * Retires a pair that is not current: services accept no new subscriptions with it, and its private key is removed.
 *
 * @param options `force`: retires a pair even if it has subscriptions. Nothing can be sent to them any more
 * @returns how many subscriptions were made with the pair
 * @throws {DeskbellError} ERR_KEY_IN_USE if the pair is current, or if subscriptions were made with it
 */
export async function retireKey(
  directory: string,
  { vapidKeys }: Pick<Store, 'vapidKeys'>,
  publicKey: string,
  { force }: { readonly force: boolean },
): Promise<number> {
  const subscriptions = await vapidKeys.retire(publicKey, { force });
  if (subscriptions > 0 && !force) {
    throw new DeskbellError(
      'ERR_KEY_IN_USE',
      `${countOf(subscriptions, 'subscription')} ${subscriptions === 1 ? 'was' : 'were'} made with the key ${publicKey}; browsers replace it at their next visit`,
    );
  }
  await removeKeyPair(directory, publicKey);
  return subscriptions;
}
