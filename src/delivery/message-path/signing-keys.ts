// The VAPID pairs that a sender signs with: the pairs in its options and in its key directory, except retired pairs.
// A pair is written to its file before any subscription uses it, so reading the files again also finds pairs that
// were made after this process started.
import { readKeyRing } from '../../keys/vapid-key-files.ts';
import { pushHeaders, type PushOptions } from '../../protocol/request.ts';
import { createVapidAuthorizer, type VapidAuthorizer, type VapidKeys } from '../../protocol/vapid.ts';
import type { VapidKeyStore } from '../../store/vapid-keys.ts';
import type { PushHeaders } from '../../transport/transport.ts';
import type { SenderVapid } from '../settings/settings.ts';

/** The part of the store that knows which keys exist and which is current. */
export type KeyStates = Pick<VapidKeyStore, 'current' | 'list'>;

/** Minimum time between two searches for a key that was not found. */
const lookAgainAfterMs = 1000;
/** Minimum time between two checks for retired keys. */
const askAgainAfterMs = 100;

export type SigningKeys = ReturnType<typeof createSigningKeys>;

/** @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION */
export function createSigningKeys(
  vapid: SenderVapid,
  states: KeyStates | undefined,
  now: () => number = Date.now,
) {
  const { subject, lifetimeSeconds, previousKeys = [], keyDirectory } = vapid;
  const authorizers = new Map<string, VapidAuthorizer>();
  const lookAgainAtMs = new Map<string, number>();
  /** Retired keys, whose pairs may still be in the key files of another machine. */
  let retired: ReadonlySet<string> = new Set();
  let askedAtMs = -Infinity;
  let current = vapid.publicKey;

  const add = (keys: VapidKeys): void => {
    authorizers.set(keys.publicKey, createVapidAuthorizer({ keys, subject, lifetimeSeconds, now }));
  };
  for (const keys of [vapid, ...previousKeys]) add(keys);

  const load = async (directory: string, wanted: readonly string[]): Promise<readonly string[]> => {
    const found = (await readKeyRing(directory)).filter(
      ({ publicKey }) => !authorizers.has(publicKey) && !retired.has(publicKey),
    );
    for (const keys of found) add(keys);
    for (const key of wanted) {
      if (authorizers.has(key)) lookAgainAtMs.delete(key);
      else lookAgainAtMs.set(key, now() + lookAgainAfterMs);
    }
    return found.map(({ publicKey }) => publicKey);
  };

  const isUpToDate = (): boolean =>
    states === undefined || keyDirectory === undefined || Math.abs(now() - askedAtMs) < askAgainAfterMs;

  const dropRetired = async (): Promise<readonly string[]> => {
    if (states === undefined || isUpToDate()) return [];
    askedAtMs = now();
    const keys = (await states.list()).filter(({ state }) => state === 'retired');
    retired = new Set(keys.map(({ publicKey }) => publicKey));
    return [...retired].filter((key) => authorizers.delete(key));
  };

  return {
    /** Signs messages to subscriptions whose key is unknown. */
    get current() {
      return current;
    },

    hasKey: (publicKey: string): boolean => isUpToDate() && authorizers.has(publicKey),

    /** @returns `undefined` if the key is not loaded */
    find: (publicKey: string): VapidAuthorizer | undefined => authorizers.get(publicKey),

    /**
     * Loads the keys that are in the key directory, and unloads retired keys. `undefined` means the current key.
     *
     * @returns the keys that were loaded or unloaded
     * @throws {DeskbellError} the errors of `readKeyRing`
     */
    async loadKeys(publicKeys: Iterable<string | undefined>): Promise<readonly string[]> {
      if (keyDirectory === undefined) return [];
      const dropped = await dropRetired();
      const keys = new Set(publicKeys);
      if (keys.delete(undefined)) {
        current = (await states?.current()) ?? current;
        keys.add(current);
      }
      const wanted = [...(keys as Set<string>)].filter(
        (key) => !authorizers.has(key) && (lookAgainAtMs.get(key) ?? 0) <= now(),
      );
      return wanted.length === 0 ? dropped : [...dropped, ...(await load(keyDirectory, wanted))];
    },
  };
}

// Header fields of push requests to one origin. Messages with the same fields share one object, which the transport
// encodes once.

interface CachedHeaders {
  readonly options: PushOptions;
  readonly authorization: string;
  readonly headers: PushHeaders;
}

/** Number of header objects kept: enough for concurrent broadcasts and for retries, whose TTL is shorter. */
const maxCached = 8;

/** @returns a function that returns the same object for the same options until the origin's token is renewed */
export function createHeaderSource(
  authorize: VapidAuthorizer,
  origin: string,
): (options: PushOptions) => PushHeaders {
  const cached: CachedHeaders[] = [];
  return (options) => {
    const authorization = authorize(origin);
    for (const one of cached) {
      if (one.authorization === authorization && isSame(one.options, options)) return one.headers;
    }
    const headers = pushHeaders(options, authorization, origin);
    if (cached.length >= maxCached) cached.length = 0;
    cached.push({ options: { ...options }, authorization, headers });
    return headers;
  };
}

function isSame(one: PushOptions, other: PushOptions): boolean {
  return one.ttlSeconds === other.ttlSeconds && one.urgency === other.urgency && one.topic === other.topic;
}
