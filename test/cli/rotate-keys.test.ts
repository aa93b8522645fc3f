// A rotation of the VAPID pair that stops between two of its steps: what every process finds then, and how the next one ends it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { rotateKeys } from '../../src/cli/data/key-rotation.ts';
import { readKeyFile, readKeyRing, removeKeyPair } from '../../src/keys/vapid-key-files.ts';
import type { VapidKeyStore } from '../../src/store/vapid-keys.ts';
import { temporaryFolder } from './run-command.ts';

const stopped = new Error('The process has stopped.');

type Step = 'prepare' | 'makeCurrent';

/** The keys' store of a process that stops before or after this step. */
function stopAt(vapidKeys: VapidKeyStore, moment: 'before' | 'after', step: Step): VapidKeyStore {
  const stop = async (publicKey: string): Promise<never> => {
    if (moment === 'after') await vapidKeys[step](publicKey);
    throw stopped;
  };
  return { ...vapidKeys, [step]: stop };
}

suite('a rotation', () => {
  for (const [moment, step, offersNewKey, isRecorded] of [
    ['before', 'prepare', false, false],
    ['after', 'prepare', false, true],
    ['before', 'makeCurrent', false, true],
    ['after', 'makeCurrent', true, true],
  ] as const) {
    test(`that stops ${moment} ${step} leaves every key with its private half, and the next one completes it`, async (t) => {
      const directory = await temporaryFolder();
      const { store, vapidKeys: former, close } = await openDataDirectory(directory);
      t.after(close);
      const { vapidKeys } = store;

      await assert.rejects(rotateKeys(directory, { vapidKeys: stopAt(vapidKeys, moment, step) }), stopped);
      const pairs = await readKeyRing(directory);
      const made = pairs.find(({ publicKey }) => publicKey !== former.publicKey);
      assert.ok(made, 'the pair is in its file before the database hears of it');
      const named = await vapidKeys.list();
      for (const { publicKey } of named) {
        assert.ok(
          pairs.some((pair) => pair.publicKey === publicKey),
          'senders can sign with what is named',
        );
      }
      assert.equal(
        named.some(({ publicKey }) => publicKey === made.publicKey),
        isRecorded,
      );
      assert.equal(await vapidKeys.current(), offersNewKey ? made.publicKey : former.publicKey);
      assert.equal((await readKeyFile(directory)).publicKey, former.publicKey, 'the copy comes last');

      const completed = await rotateKeys(directory, store);
      if (isRecorded && !offersNewKey) assert.equal(completed, made.publicKey);
      assert.equal(await vapidKeys.current(), completed);
      assert.equal((await readKeyFile(directory)).publicKey, completed);
      const states = (await vapidKeys.list()).map(({ state }) => state);
      assert.deepEqual(
        states.filter((state) => state === 'current' || state === 'next'),
        ['current'],
      );
      assert.ok((await readKeyRing(directory)).some(({ publicKey }) => publicKey === former.publicKey));
    });
  }

  test('whose pair has no file any more, as after a restore of the key files, is followed by one with another pair', async (t) => {
    const directory = await temporaryFolder();
    const { store, close } = await openDataDirectory(directory);
    t.after(close);
    const { vapidKeys } = store;
    await assert.rejects(
      rotateKeys(directory, { vapidKeys: stopAt(vapidKeys, 'after', 'prepare') }),
      stopped,
    );
    const lost = (await vapidKeys.list()).find(({ state }) => state === 'next')!.publicKey;
    await removeKeyPair(directory, lost);
    const made = await rotateKeys(directory, store);
    assert.notEqual(made, lost);
    assert.equal(await vapidKeys.current(), made);
    const { state } = (await vapidKeys.list()).find(({ publicKey }) => publicKey === lost)!;
    assert.equal(state, 'retired');
  });
});
