// `deskbell store copy`, as an operator runs it: a broadcast that was paused half-way goes on in the other database, and back.
import assert from 'node:assert/strict';
import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openDataDirectory, type DataDirectory } from '../../src/cli/data/data-directory.ts';
import { readCopyLocations } from '../../src/cli/data/copy-locations.ts';
import { isSecretFile } from '../../src/keys/secret-files.ts';
import { createBroadcast } from '../../src/delivery/broadcast/create-broadcast.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { startPushService, type PushService } from '../../src/push-service/index.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { Store } from '../../src/store/store.ts';
import { timesReceived } from '../delivery/broadcast-bench.ts';
import { madeUpSchedule } from '../store/store-under-test.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { runCommand, spawnCommand, temporaryFolder } from './run-command.ts';
import { until } from '../../tools/until.ts';

const getServer = useSharedServer();
const subject = 'mailto:push@example.org';
const message = { title: 'Hello', message: 'World' };
const audience = 4000;

async function withData<Result>(
  path: string,
  database: string | undefined,
  work: (data: DataDirectory) => Promise<Result>,
): Promise<Result> {
  const data = await openDataDirectory(path, { database });
  try {
    return await work(data);
  } finally {
    await data.close();
  }
}

async function withSender<Result>(
  { store, vapidKeys }: DataDirectory,
  { origin }: PushService,
  work: (sender: Sender) => Promise<Result>,
): Promise<Result> {
  const sender = createSender({
    store,
    vapid: { ...vapidKeys, subject },
    pushServices: [origin],
    threads: 0,
  });
  try {
    return await work(sender);
  } finally {
    await sender.close();
  }
}

/** Sends a broadcast until more rows than `accepted` are accepted, and pauses it. @param id of one that is there */
async function sendSome(
  data: DataDirectory,
  pushService: PushService,
  { accepted = 0, id }: { readonly accepted?: number; readonly id?: number } = {},
): Promise<Broadcast> {
  const { broadcasts } = data.store;
  const paused = await withSender(data, pushService, async (sender) => {
    const run = id === undefined ? await sender.broadcast('all', message) : await sender.resume(id);
    const acceptedRows = async () => (await broadcasts.find(run.broadcast.id))?.counts.accepted ?? 0;
    await until(async () => (await acceptedRows()) > accepted, `more than ${accepted} accepted rows`);
    await broadcasts.pause(run.broadcast.id);
    return run.finished;
  });
  assert.equal(paused.state, 'paused');
  assert.ok(paused.counts.pending > 0, 'it is somewhere in the middle');
  return paused;
}

describe('deskbell store copy', () => {
  test('moves a broadcast that is paused half-way to PostgreSQL and back: everybody gets one message', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'data');
    await using pushService = await startPushService({ checksBodies: false });
    pushService.faults.inject({ kind: 'delay', ms: 20 });
    const halfWay = await withData(path, undefined, async (data) => {
      const { publicKey } = data.vapidKeys;
      const policy = createEndpointPolicy([pushService.origin]);
      await data.store.subscriptions.putAll(
        Array.from(pushService.createSinks(audience, { vapidPublicKey: publicKey }), (sink) => ({
          subscription: parseSubscription(sink, policy),
          vapidPublicKey: publicKey,
        })),
      );
      return sendSome(data, pushService);
    });
    const { id } = halfWay;

    const { url } = await (await getServer()).createDatabase('template1');
    const environment = { DESKBELL_DATABASE: url };
    const there = await runCommand(['store', 'copy', '--from', path], { environment });
    assert.equal(there.exitCode, 0, there.stderr);
    assert.match(
      there.stdout,
      /^Copied 4,000 subscriptions, [\d,]+ rows in all, from .*data to 127\.0\.0\.1.*the same\.\n$/,
    );
    assert.equal(there.stdout.includes('postgres:'), false, 'no password');
    // on a slow machine behind lines that say how far it is
    assert.match(there.stderr, /^Do not use the source any more/m);

    await withData(path, url, async (data) => {
      assert.deepEqual(await data.store.broadcasts.find(id), halfWay);
      await sendSome(data, pushService, { accepted: halfWay.counts.accepted, id });
    });

    const other = join(folder, 'other');
    const back = await spawnCommand(['store', 'copy', '--to', other, '--json'], { environment });
    assert.equal(back.exitCode, 0, back.stderr);
    const { tables } = JSON.parse(back.stdout) as {
      readonly tables: readonly { readonly name: string; readonly rows: number; readonly checksum: string }[];
    };
    const subscriptions = tables.find(({ name }) => name === 'subscriptions');
    assert.equal(subscriptions?.rows, audience);
    assert.match(subscriptions.checksum, /^[\da-f]{64}$/);
    assert.match(back.stderr, /other has no vapid-keys\.json: copy all key files/);
    await assert.rejects(openDataDirectory(other), { code: 'ERR_KEY_FILE_MISSING' });
    for (const name of (await readdir(path)).filter(isSecretFile))
      await cp(join(path, name), join(other, name));

    pushService.faults.clear();
    const { state, counts } = await withData(other, undefined, (data) =>
      withSender(data, pushService, async (sender) => (await sender.resume(id)).finished),
    );
    assert.deepEqual([state, counts.accepted], ['done', audience]);
    assert.deepEqual(timesReceived(pushService), { 1: audience });
  });

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
      await withData(from, undefined, async ({ store }) => begin(store));
      const copied = await runCommand(['store', 'copy', '--from', from, '--to', `${from}-copy`]);
      assert.equal(copied.exitCode, 0, copied.stderr);
      assert.equal(/^Do not use the source any more/m.test(copied.stderr), name !== 'nothing', name);
    }
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
