// Changes the current VAPID pair of a data directory, and removes pairs that are no longer needed. Each step leaves a state
// in which every subscription can be sent to; whoever rotates after a crash completes what was begun.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import { addKeyPair, copyCurrentPair, readKeyRing, removeKeyPair } from '../../keys/vapid-key-files.ts';
import { generateVapidKeys, type VapidKeys } from '../../protocol/vapid-token.ts';
import type { Store } from '../../store/store.ts';
import type { VapidKeyStore } from '../../store/vapid-keys.ts';

/**
 * Makes a new pair current. First the pair is in the data directory, where every sender finds it, and recorded as the next
 * one; then services offer it.
 *
 * @returns the new public key
 * @throws {DeskbellError} ERR_KEY_FILE_MISSING, ERR_KEY_FILE_CORRUPT, ERR_KEY_FILE_EXPOSED, ERR_FILE, ERR_STORE_UNAVAILABLE
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

/** @returns the pair that is next, in the data directory and in the database; of two rotations at once, both get the same */
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
 * Retires a pair that is not current: services take no more subscriptions of it, and its private half is removed.
 *
 * @param options `force`: also where subscriptions were made with it, which cannot be sent to any more
 * @returns how many subscriptions there are
 * @throws {DeskbellError} ERR_KEY_IN_USE for the current pair, and for one that subscriptions were made with
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
