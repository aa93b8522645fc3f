// Finds VAPID pairs that subscriptions need but no key file has: without the private key nothing can be sent to them.
import { countOf } from '../errors/format-count.ts';
import type { VapidKeys } from '../protocol/vapid-token.ts';

interface KnownKey {
  readonly publicKey: string;
  /** `undefined` for a key that was never ours; `retired` if its private key was removed on purpose. */
  readonly state: 'next' | 'current' | 'previous' | 'retired' | undefined;
}

export interface MissingKey extends KnownKey {
  readonly subscriptions: number;
}

/**
 * @param counts subscriptions by public key
 * @param ring the pairs of the key files
 */
export function findMissingKeys(
  known: readonly KnownKey[],
  counts: ReadonlyMap<string, number>,
  ring: readonly Pick<VapidKeys, 'publicKey'>[],
): readonly MissingKey[] {
  const present = new Set(ring.map(({ publicKey }) => publicKey));
  return known
    .filter(({ publicKey, state }) => hasPrivateHalf(state) && !present.has(publicKey))
    .map(({ publicKey, state }) => ({ publicKey, state, subscriptions: counts.get(publicKey) ?? 0 }))
    .filter(({ state, subscriptions }) => subscriptions > 0 || state === 'current');
}

export const hasPrivateHalf = (state: KnownKey['state']): boolean =>
  state !== undefined && state !== 'retired';

export function describeMissingKeys(missing: readonly MissingKey[], directory: string): string {
  const keys = missing.map(
    ({ publicKey, subscriptions, state }) =>
      `${publicKey} (${state}, ${countOf(subscriptions, 'subscription')})`,
  );
  return (
    `No key file in ${directory} has the private half of the VAPID ${keys.length === 1 ? 'key' : 'keys'} ${keys.join(', ')}: ` +
    'without it nothing can be sent to subscriptions that were made with it.'
  );
}

export const missingKeysRemedy =
  'Put the key file back from a backup or from another machine; another pair cannot send to these subscribers.';
