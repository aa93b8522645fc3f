// Which VAPID pairs the subscriptions of a store need and no key file has: without the private half nobody can write to them.
// This is the one place that compares them.
import { countOf } from '../errors/format-count.ts';
import type { VapidKeys } from '../protocol/vapid-token.ts';

/** A key as the store has it. */
interface KnownKey {
  readonly publicKey: string;
  /** `undefined` for a key that was never one of ours; `retired`: its private half was removed on purpose. */
  readonly state: 'next' | 'current' | 'previous' | 'retired' | undefined;
}

export interface MissingKey extends KnownKey {
  /** So many were made with it. */
  readonly subscriptions: number;
}

/**
 * @param counts how many subscriptions were made with each key
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

/** Whether the private half of a key in this state is kept. */
export const hasPrivateHalf = (state: KnownKey['state']): boolean =>
  state !== undefined && state !== 'retired';

/** @param directory where key files were looked for */
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
