// The pairs of a data directory while they are rotated: whatever is interrupted, and whoever rotates at the same time, no
// private half is lost, and the current key is one that can be signed with.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { type DataDirectory, openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { retireKey, rotateKeys } from '../../src/cli/data/key-rotation.ts';
import { addKeyPair, findMissingKeys, readKeyFile, readKeyRing } from '../../src/keys/vapid-key-files.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';

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

  test('a rotation makes a new pair current and keeps the former', async () => {
    const former = data.vapidKeys;
    const publicKey = await rotateKeys(folder, data.store);
    assert.notEqual(publicKey, former.publicKey);
    assert.equal(await data.store.vapidKeys.current(), publicKey);
    assert.equal((await readKeyFile(folder)).publicKey, publicKey, 'where other tools look for it');
    assert.deepEqual(new Set(await publicKeys()), new Set([publicKey, former.publicKey]));

    await reopen();
    assert.equal(data.vapidKeys.publicKey, publicKey);
    assert.deepEqual(data.vapidKeys.previousKeys, [
      { publicKey: former.publicKey, privateKey: former.privateKey },
    ]);
  });

  test('only the owner can read the file of any pair', async () => {
    await rotateKeys(folder, data.store);
    const files = readdirSync(folder).filter((name) => name.startsWith('vapid-keys'));
    assert.equal(files.length, 3);
    for (const file of files) assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
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

  test('a rotation that ended before its key was recorded changes nothing', async () => {
    const { publicKey } = data.vapidKeys;
    await addKeyPair(folder, generateVapidKeys());
    await reopen();
    assert.equal(data.vapidKeys.publicKey, publicKey);
  });

  test('a rotation that ended before its key was offered is completed by the next', async () => {
    const made = generateVapidKeys();
    await addKeyPair(folder, made);
    await data.store.vapidKeys.prepare(made.publicKey);
    await reopen();
    assert.notEqual(data.vapidKeys.publicKey, made.publicKey);
    assert.equal(await rotateKeys(folder, data.store), made.publicKey);
  });

  test('a next key whose pair is lost is never offered', async () => {
    const lost = generateVapidKeys().publicKey;
    await data.store.vapidKeys.prepare(lost);
    const publicKey = await rotateKeys(folder, data.store);
    assert.notEqual(publicKey, lost);
    assert.ok((await publicKeys()).includes(publicKey));
  });

  test('a rotation that ended before vapid-keys.json was written is completed by whoever opens the directory', async () => {
    const made = generateVapidKeys();
    await addKeyPair(folder, made);
    await data.store.vapidKeys.prepare(made.publicKey);
    await data.store.vapidKeys.makeCurrent(made.publicKey);
    const former = data.vapidKeys.publicKey;
    await reopen();
    assert.equal(data.vapidKeys.publicKey, made.publicKey);
    assert.equal((await readKeyFile(folder)).publicKey, made.publicKey);
    assert.deepEqual(new Set(await publicKeys()), new Set([made.publicKey, former]));
  });

  test('a directory whose current pair is lost is refused, and the pair is named', async () => {
    const former = data.vapidKeys.publicKey;
    const publicKey = await rotateKeys(folder, data.store);
    await data.store.vapidKeys.makeCurrent(former);
    await reopen();
    for (const name of readdirSync(folder))
      if (name.includes(publicKey.slice(0, 20))) rmSync(join(folder, name));
    await data.store.vapidKeys.makeCurrent(publicKey);
    await assert.rejects(openDataDirectory(folder), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'ERR_KEY_FILE_MISSING');
      assert.ok(error.message.includes(publicKey));
      return true;
    });
  });

  test('a retired pair is in no file any more', async () => {
    const former = data.vapidKeys;
    await rotateKeys(folder, data.store);
    assert.equal(await retireKey(folder, data.store, former.publicKey, { force: false }), 0);
    for (const name of readdirSync(folder).filter((file) => file.startsWith('vapid-keys'))) {
      assert.ok(!readFileSync(join(folder, name), 'utf8').includes(former.privateKey));
    }
    await reopen();
    assert.deepEqual(data.vapidKeys.previousKeys, []);
  });

  test('a pair that subscriptions were made with stays, unless it is forced out', async () => {
    const former = data.vapidKeys;
    await data.store.subscriptions.put(madeUpSubscription(1), former.publicKey);
    const publicKey = await rotateKeys(folder, data.store);
    const refused = retireKey(folder, data.store, former.publicKey, { force: false });
    await assert.rejects(refused, { code: 'ERR_KEY_IN_USE' });
    assert.ok((await publicKeys()).includes(former.publicKey));
    assert.equal(await retireKey(folder, data.store, former.publicKey, { force: true }), 1);
    assert.deepEqual(await publicKeys(), [publicKey]);
  });

  test('the current pair is not retired by force either', async () => {
    const { publicKey } = data.vapidKeys;
    await assert.rejects(retireKey(folder, data.store, publicKey, { force: true }), {
      code: 'ERR_KEY_IN_USE',
    });
    assert.deepEqual(await publicKeys(), [publicKey]);
  });
});

// Which keys are missing: those that subscriptions need, and whose private half was not removed on purpose.

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
