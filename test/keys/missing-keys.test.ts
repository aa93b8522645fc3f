// Which keys are missing: those that subscriptions need, and whose private half was not removed on purpose.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMissingKeys } from '../../src/keys/vapid-key-files.ts';

test('a key that was retired or was never ours is not missing, nor is a former one that nobody needs', () => {
  const states = ['next', 'current', 'previous', 'retired', undefined] as const;
  const known = states.map((state) => ({ publicKey: `key ${state}`, state }));
  const needed = new Map(known.map(({ publicKey }) => [publicKey, 3]));
  const missing = (counts: ReadonlyMap<string, number>, ring: readonly string[] = []) =>
    findMissingKeys(
      known,
      counts,
      ring.map((publicKey) => ({ publicKey })),
    ).map(({ state, subscriptions }) => [state, subscriptions]);
  assert.deepEqual(missing(needed), [
    ['next', 3],
    ['current', 3],
    ['previous', 3],
  ]);
  assert.deepEqual(missing(new Map()), [['current', 0]]);
  assert.deepEqual(missing(needed, ['key next', 'key current']), [['previous', 3]]);
});
