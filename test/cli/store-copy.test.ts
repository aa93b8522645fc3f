// `deskbell store copy`: what it takes for source and target, what it warns of and what it refuses.
import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { readCopyLocations } from '../../src/cli/data/copy-locations.ts';
import { createBroadcast } from '../../src/delivery/broadcast/create-broadcast.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import type { Store } from '../../src/store/store.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { addSubscriptions, madeUpSchedule } from '../store/store-under-test.ts';
import { commandsIn, outputOf, parseLines, runCommand, temporaryFolder } from './run-command.ts';

const getServer = useSharedServer();

const message = { title: 'Hello', message: 'World' };

describe('deskbell store copy', () => {
  test('takes what is not named from the configuration: its data directory or its database', () => {
    const [data, database] = ['/var/lib/deskbell', 'postgres://db.example.org/deskbell'];
    const read = (given: Parameters<typeof readCopyLocations>[0]) => {
      const { from, to } = readCopyLocations(given, { data, database });
      return [from.label, to.label];
    };
    const label = 'db.example.org/deskbell';
    assert.deepEqual(read({}), [data, label]);
    assert.deepEqual(read({ from: '/there' }), ['/there', label]);
    assert.deepEqual(read({ to: '/there' }), [label, '/there']);
    const other = 'postgres://other.example.org/deskbell';
    assert.deepEqual(read({ from: other }), ['other.example.org/deskbell', data]);
    assert.deepEqual(read({ to: other }), [data, 'other.example.org/deskbell']);
    assert.deepEqual(read({ from: database, to: other }), [label, 'other.example.org/deskbell']);
  });

  test('says that the source must not be used any more where something is still to be sent', async () => {
    const folder = await temporaryFolder();
    const policy = createEndpointPolicy();
    for (const [name, begin] of [
      ['nothing', async () => {}],
      ['schedule', ({ schedules }: Store) => schedules.add(madeUpSchedule())],
      [
        'preparing',
        (store: Store) => createBroadcast(store, policy, { tags: { any: ['news'] } }, message, {}),
      ],
    ] as const) {
      const from = join(folder, name);
      const { store, close } = await openDataDirectory(from);
      await begin(store);
      await close();
      const copied = await runCommand(['store', 'copy', '--from', from, '--to', `${from}-copy`]);
      assert.equal(copied.exitCode, 0, copied.stderr);
      assert.equal(/^Do not use the source any more/m.test(copied.stderr), name !== 'nothing', name);
    }
  });

  test('copies to PostgreSQL and back, and says what was copied and what is left to do', async () => {
    const folder = await temporaryFolder();
    const [from, back] = [join(folder, 'data'), join(folder, 'back')];
    const { store, vapidKeys, close } = await openDataDirectory(from);
    await addSubscriptions(store, 3, 0, () => ({ vapidPublicKey: vapidKeys.publicKey }));
    await close();
    const { url } = await (await getServer()).createDatabase('template1');
    const run = commandsIn({ DESKBELL_DATABASE: url });
    const there = await outputOf(run(['store', 'copy', '--from', from]));
    assert.match(
      there,
      /^Copied 3 subscriptions, [\d,]+ rows in all, from .*data to 127\.0\.0\.1.*the same\.\n$/,
    );
    assert.equal(there.includes('postgres:'), false, 'no password');
    const { stdout, stderr } = await run(['store', 'copy', '--to', back, '--json']);
    const [{ tables }] = parseLines(stdout);
    const { rows, checksum } = tables.find(({ name }: { name: string }) => name === 'subscriptions');
    assert.equal(rows, 3);
    assert.match(checksum, /^[\da-f]{64}$/);
    assert.match(stderr, /back has no vapid-keys\.json: copy all key files/);
    await assert.rejects(openDataDirectory(back), { code: 'ERR_KEY_FILE_MISSING' });
  });

  test('says what it cannot copy, without quoting a password', async () => {
    const folder = await temporaryFolder();
    const [missing, empty] = [join(folder, 'missing'), join(folder, 'empty')];
    await mkdir(empty, { mode: 0o700 });
    const url = 'postgres://ada:secret@127.0.0.1:1/deskbell';
    for (const [words, exitCode, expected] of [
      [['--from', missing, '--to', url], 1, /The data directory .*missing does not exist.*ERR_DATA_MISSING/],
      [['--from', empty, '--to', url], 1, /has no database.*ERR_COPY_SOURCE/],
      [['--from', empty], 2, /no database to copy from or to.*ERR_CONFIGURATION/],
      [['--from', empty, '--to', `${empty}/.`], 2, /are both .*empty/],
      [['--from', empty, '--to', 'mysql://ada:secret@host/x'], 2, /--to: it must be a URL such as postgres:/],
      [
        ['--from', empty, '--to', 'postgres://ada:secret@host/x%'],
        2,
        /--to: the name of its database has a "%"/,
      ],
      [
        ['--from', url, '--to', empty],
        1,
        /127\.0\.0\.1:1\/deskbell cannot be reached.*ERR_STORE_UNAVAILABLE/,
      ],
    ] as const) {
      const result = await runCommand(['store', 'copy', ...words]);
      assert.equal(result.exitCode, exitCode, result.stderr);
      assert.match(result.stderr, expected);
      assert.equal(result.stderr.includes('secret'), false);
    }
    assert.deepEqual(await readdir(empty), []);
  });
});
