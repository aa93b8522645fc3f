// The VAPID pairs that a sender signs with: those that it was given and, where it has a key directory, those that are there.
// A pair is in its file before any subscription is made with it, so that reading the files again for a key that is not
// held finds every pair of ours, in a process that was started before the pair was made too.
import { readKeyRing } from '../keys/key-ring.ts';
import { createVapidAuthorizer, type VapidKeys } from '../protocol/vapid.ts';
import { createHeaderSource, type HeaderSource } from './header-source.ts';
import type { SenderVapid } from './settings.ts';

export interface SigningKeys {
  /** The key of subscriptions that name none. */
  readonly current: string;
  /** @returns `undefined` for a key that is not held */
  find(publicKey: string): HeaderSource | undefined;
  /**
   * Sees to it that these keys are held, as far as they are ours, and that `current` is right where one is `undefined`.
   *
   * @returns the keys that are held from now on
   * @throws {DeskbellError} as `readKeyRing` does
   */
  hold(publicKeys: Iterable<string | undefined>): Promise<readonly string[]>;
}

/** The key that services offer, as the store has it. */
export type ReadCurrentKey = () => Promise<string | undefined>;

/** A key that is not ours is looked for at most this often. */
const lookAgainAfterMs = 1000;

/** @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION */
export function createSigningKeys(
  vapid: SenderVapid,
  readCurrentKey: ReadCurrentKey | undefined,
  now: () => number = Date.now,
): SigningKeys {
  const { subject, lifetimeSeconds, previousKeys = [], keyDirectory } = vapid;
  const sources = new Map<string, HeaderSource>();
  const lookAgainAtMs = new Map<string, number>();
  let current = vapid.publicKey;

  const add = ({ publicKey, privateKey }: VapidKeys): void => {
    const keys = { publicKey, privateKey };
    sources.set(
      publicKey,
      createHeaderSource(createVapidAuthorizer({ keys, subject, lifetimeSeconds, now })),
    );
  };
  for (const keys of [vapid, ...previousKeys]) add(keys);

  const load = async (directory: string, wanted: readonly string[]): Promise<readonly string[]> => {
    const found = (await readKeyRing(directory)).filter(({ publicKey }) => !sources.has(publicKey));
    for (const keys of found) add(keys);
    for (const key of wanted) {
      if (sources.has(key)) lookAgainAtMs.delete(key);
      else lookAgainAtMs.set(key, now() + lookAgainAfterMs);
    }
    return found.map(({ publicKey }) => publicKey);
  };

  return {
    get current() {
      return current;
    },

    find: (publicKey) => sources.get(publicKey),

    async hold(publicKeys) {
      if (keyDirectory === undefined) return [];
      const keys = new Set(publicKeys);
      if (keys.delete(undefined)) {
        current = (await readCurrentKey?.()) ?? current;
        keys.add(current);
      }
      const wanted = [...(keys as Set<string>)].filter(
        (key) => !sources.has(key) && (lookAgainAtMs.get(key) ?? 0) <= now(),
      );
      return wanted.length === 0 ? [] : load(keyDirectory, wanted);
    },
  };
}
