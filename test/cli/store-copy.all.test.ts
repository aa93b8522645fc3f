// `deskbell store copy` in the middle of a broadcast: it goes on in the other database, and back.
import assert from 'node:assert/strict';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDataDirectory, type DataDirectory } from '../../src/cli/data/data-directory.ts';
import { isSecretFile } from '../../src/keys/secret-files.ts';
import { createSender, type Sender, type SenderOptions } from '../../src/delivery/sender.ts';
import { startPushService, type PushService } from '../../src/push-service/index.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import { timesReceived } from '../delivery/broadcast-bench.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { runCommand, spawnCommand, storeSinks, temporaryFolder } from './run-command.ts';
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
  options: Pick<SenderOptions, 'maxRate'> = {},
): Promise<Result> {
  const vapid = { ...vapidKeys, subject };
  const sender = createSender({ store, vapid, pushServices: [origin], threads: 0, ...options });
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
  const pauseHalfWay = async (sender: Sender): Promise<Broadcast> => {
    const run = id === undefined ? await sender.broadcast('all', message) : await sender.resume(id);
    const acceptedRows = async () => (await broadcasts.find(run.broadcast.id))?.counts.accepted ?? 0;
    await until(async () => (await acceptedRows()) > accepted, `more than ${accepted} accepted rows`);
    await broadcasts.pause(run.broadcast.id);
    return run.finished;
  };
  // so slow that it is not over before it is paused
  const maxRate = [`${pushService.origin}=300/s`];
  const paused = await withSender(data, pushService, pauseHalfWay, { maxRate });
  assert.equal(paused.state, 'paused');
  assert.ok(paused.counts.pending > 0, 'it is somewhere in the middle');
  return paused;
}

test('store copy moves a broadcast that is paused half-way to PostgreSQL and back: everybody gets one message', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'data');
  await using pushService = await startPushService({ checksBodies: false });
  const halfWay = await withData(path, undefined, async (data) => {
    await storeSinks(data, pushService, audience);
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

  const { state, counts } = await withData(other, undefined, (data) =>
    withSender(data, pushService, async (sender) => (await sender.resume(id)).finished),
  );
  assert.deepEqual([state, counts.accepted], ['done', audience]);
  assert.deepEqual(timesReceived(pushService), { 1: audience });
});
