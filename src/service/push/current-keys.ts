// Reads the service's public keys as they are now. `deskbell keys rotate` changes them while services run; the database
// says which key is current, so all services on it offer the same one. Nothing is cached: only requests of one turn of
// the event loop, and those that arrive during a read, share one.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Store } from '../../store/store.ts';
import type { VapidKeyState } from '../../store/vapid-keys.ts';
import type { VapidPublicKeys } from './vapid-key-header.ts';

/** @throws {DeskbellError} ERR_STORE_UNAVAILABLE */
export type ReadVapidKeys = () => Promise<VapidPublicKeys>;

/** @param given the options' keys; they apply if the store does not know the current one among them */
export function createReadVapidKeys(
  { vapidKeys }: Pick<Store, 'vapidKeys'>,
  given: VapidPublicKeys,
): ReadVapidKeys {
  const read = async (): Promise<VapidPublicKeys> => {
    const ours = (await vapidKeys.list()).filter(({ state }) => state !== undefined);
    const current = ours.find(({ state }) => state === 'current');
    const isKnown = ours.some(({ publicKey }) => publicKey === given.vapidPublicKey);
    if (current === undefined || !isKnown) return given;
    const inState = (wanted: VapidKeyState): readonly string[] =>
      ours.filter(({ state }) => state === wanted).map(({ publicKey }) => publicKey);
    const retired = inState('retired');
    const others = given.previousVapidPublicKeys.filter((key) => !retired.includes(key));
    return {
      vapidPublicKey: current.publicKey,
      previousVapidPublicKeys: [...inState('previous'), ...others],
    };
  };

  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<VapidPublicKeys> | undefined;
  const readNext = async (): Promise<VapidPublicKeys> => {
    await underWay;
    await nextTurn();
    next = undefined;
    const reading = read();
    underWay = reading.catch(() => {});
    return reading;
  };
  return () => (next ??= readNext());
}
