// The pairs of a data directory while they are rotated: whatever is interrupted, and whoever rotates at the same time, no
// private half is lost, and the current key is one that can be signed with.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type DataDirectory, openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { rotateKeys } from '../../src/cli/data/key-rotation.ts';
import {
  describeMissingKeys,
  readKeyFile,
  readKeyRing,
  removeKeyPair,
} from '../../src/keys/vapid-key-files.ts';

describe('the pairs of a data directory', () => {
  let folder: string;
  let data: DataDirectory;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-key-ring-'));
    data = await openDataDirectory(folder);
  });
  afterEach(async () => {
    await data.close();
    rmSync(folder, { recursive: true });
  });

  const publicKeys = async () => (await readKeyRing(folder)).map(({ publicKey }) => publicKey);
  const reopen = async () => {
    await data.close();
    data = await openDataDirectory(folder);
  };

  /** Rotates in a process that stops before or after this step. */
  async function stopAt(moment: 'before' | 'after', step: 'prepare' | 'makeCurrent'): Promise<void> {
    const { vapidKeys } = data.store;
    const stopped = new Error('The process has stopped.');
    const stop = async (publicKey: string): Promise<never> => {
      if (moment === 'after') await vapidKeys[step](publicKey);
      throw stopped;
    };
    await assert.rejects(rotateKeys(folder, { vapidKeys: { ...vapidKeys, [step]: stop } }), stopped);
  }

  for (const [moment, step, offersNewKey, isRecorded] of [
    ['before', 'prepare', false, false],
    ['after', 'prepare', false, true],
    ['before', 'makeCurrent', false, true],
    ['after', 'makeCurrent', true, true],
  ] as const) {
    test(`a rotation that stops ${moment} ${step} leaves every key with its private half, and the next one completes it`, async () => {
      const former = data.vapidKeys.publicKey;
      await stopAt(moment, step);
      const held = await publicKeys();
      const made = held.find((publicKey) => publicKey !== former);
      assert.ok(made, 'the pair is in its file before the database hears of it');
      const named = (await data.store.vapidKeys.list()).map(({ publicKey }) => publicKey);
      for (const publicKey of named) assert.ok(held.includes(publicKey), 'senders can sign with it');
      assert.equal(named.includes(made), isRecorded);
      const current = offersNewKey ? made : former;
      assert.equal(await data.store.vapidKeys.current(), current);
      assert.equal((await readKeyFile(folder)).publicKey, former, 'the copy comes last');
      await reopen();
      assert.equal(data.vapidKeys.publicKey, current);
      assert.equal((await readKeyFile(folder)).publicKey, current, 'whoever opens the directory copies it');

      const completed = await rotateKeys(folder, data.store);
      if (isRecorded && !offersNewKey) assert.equal(completed, made);
      assert.equal(await data.store.vapidKeys.current(), completed);
      assert.equal((await readKeyFile(folder)).publicKey, completed);
      const states = (await data.store.vapidKeys.list()).map(({ state }) => state);
      assert.deepEqual(
        states.filter((state) => state === 'current' || state === 'next'),
        ['current'],
      );
      await reopen();
      assert.ok(data.vapidKeys.previousKeys.some(({ publicKey }) => publicKey === former));
    });
  }

  test('a rotation whose pair has no file any more, as after a restore of the key files, is followed by one with another pair', async () => {
    const { vapidKeys } = data.store;
    await stopAt('after', 'prepare');
    const lost = (await vapidKeys.list()).find(({ state }) => state === 'next')!.publicKey;
    await removeKeyPair(folder, lost);
    const made = await rotateKeys(folder, data.store);
    assert.notEqual(made, lost);
    assert.equal(await vapidKeys.current(), made);
    const { state } = (await vapidKeys.list()).find(({ publicKey }) => publicKey === lost)!;
    assert.equal(state, 'retired');
  });

  test('rotations at once come to one current pair, and every key in the database can be signed with', async () => {
    const rotations = await Promise.all(Array.from({ length: 6 }, () => rotateKeys(folder, data.store)));
    const held = new Set(await publicKeys());
    for (const publicKey of rotations) assert.ok(held.has(publicKey));
    for (const { publicKey, state } of await data.store.vapidKeys.list()) {
      assert.ok(state === 'current' || state === 'previous');
      assert.ok(held.has(publicKey));
    }
    await reopen();
    assert.ok(rotations.includes(data.vapidKeys.publicKey));
  });
});

// Which keys are missing: those that subscriptions need, and whose private half was not removed on purpose.

test('a key that was retired or was never ours is not missing, nor is a former one that nobody needs', () => {
  const states = ['next', 'current', 'previous', 'retired', undefined] as const;
  const known = states.map((state) => ({ publicKey: `key ${state}`, state }));
  const needed = new Map(known.map(({ publicKey }) => [publicKey, 3]));
  const missing = (counts: ReadonlyMap<string, number>, ring: readonly string[] = []) => {
    const pairs = ring.map((publicKey) => ({ publicKey }));
    return describeMissingKeys(known, counts, pairs, '/data')?.match(/\(\w+, \d+ subscriptions\)/g);
  };
  const all = ['next', 'current', 'previous'].map((state) => `(${state}, 3 subscriptions)`);
  assert.deepEqual(missing(needed), all);
  assert.deepEqual(missing(new Map()), ['(current, 0 subscriptions)']);
  assert.deepEqual(missing(needed, ['key next', 'key current']), all.slice(2));
  assert.equal(missing(new Map(), ['key current']), undefined);
});
