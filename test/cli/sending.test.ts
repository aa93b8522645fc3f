// A restored store, and one whose sending was paused by a command, with real processes: what they send and what they say.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test, type TestContext } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { type PushService, startPushService } from '../../src/push-service/index.ts';
import { pluck } from '../../tools/pluck.ts';
import { until } from '../../tools/until.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import { recordAnswer } from '../store/store-under-test.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import {
  changeDatabase,
  dataWithSinks,
  environmentFor,
  newData,
  parseLines,
  runCommand,
  runUntilStopped,
  serve,
  temporaryFolder,
  type Words,
} from './run-command.ts';

const message = ['--title', 'Monday', '--message', 'A new week'];

/** Data with two subscribers, a broadcast, a schedule whose time has come and an event for a webhook. */
async function setUp(t: TestContext) {
  const pushService = await startPushService({ checksBodies: false });
  t.after(() => pushService.close());
  const folder = await temporaryFolder();
  const { data, environment } = await dataWithSinks(pushService, 2);
  const run = async (words: Words) => {
    const done = await runCommand(words, { environment });
    assert.equal(done.exitCode, 0, done.stderr);
    return done;
  };
  await run(['send', '--all', '--detach', ...message]);
  await run(['send', '--all', '--cron', '0 9 1 1 *', ...message]);
  const sql = `
    update schedules set next_at_ms = ${Date.now() - 60_000};
    insert into webhook_events (id, type, at_ms, due_at_ms, attempts, broadcast_id)
      values ('${'0'.repeat(32)}', 'broadcast.done', ${Date.now()}, 0, 0, 1)`;
  changeDatabase(data, sql);
  /** How many messages each of the two has. */
  const received = (): readonly number[] =>
    pushService
      .tallySinks()
      .flatMap(({ sinksByMessages }) => Object.entries(sinksByMessages))
      .flatMap(([messages, count]) => Array.from({ length: count }, () => Number(messages)));
  return { folder, pushService, environment, run, received };
}

suite('a store that sends nothing by itself', () => {
  test('is what restore makes, until the command that it prints', async (t) => {
    const { folder, pushService, run, received } = await setUp(t);
    const backup = join(folder, 'backup');
    await run(['send', '--all', '--at', '2037-01-01T09:00:00Z', ...message]);
    await run(['backup', '--with-keys', backup]);
    const restored = join(folder, 'restored');
    const { stderr } = await runCommand(['restore', backup, '--data', restored]);
    assert.match(
      stderr,
      /^It sends nothing by itself: neither broadcasts nor schedules nor webhook events\. Bells still ring\.\n/,
    );
    const resume = /^ {2}.* (sending resume --data \S+)$/m.exec(stderr);
    assert.ok(resume, stderr);
    assert.match(stderr, /\n {2}1 schedule\n {2}1 webhook event, to be posted at once\n/);
    assert.match(
      stderr,
      /\nSchedule 1 has missed \S+Z, which is left out \(unless --with-missed is given\)\.\n/,
    );
    assert.match(
      stderr,
      /\nThese broadcasts were running, .*:\n {2}.* broadcasts resume 1 --data \S+restored\n/,
    );
    assert.match(
      stderr,
      /\nThese broadcasts were scheduled, .*:\n {2}.* broadcasts resume 2 --data \S+ {2}# 2037-01-01T09:00:00\.000Z\n/,
    );

    const environment = environmentFor(restored, pushService);
    const worker = runUntilStopped('worker --json', { environment });
    await worker.waitFor(/"event":"ready"/);
    assert.match(
      worker.written(),
      /^deskbell: Sending has been paused since .*run "deskbell sending resume"\.$/m,
    );
    const service = await serve('--deliver', { environment });
    await service.waitFor(/Sending has been paused since/);
    const ready = await fetch(`${service.address}/readyz`);
    assert.deepEqual(
      [ready.status, await ready.json()],
      [200, { status: 'ready', warnings: ['sending-paused'] }],
    );
    const doctor = await runCommand(['doctor', '--json', '--data', restored], { environment });
    const finding = parseLines(doctor.stdout).find(({ subject }) => subject === 'sending');
    assert.equal(finding.status, 'warning');
    assert.match(finding.cure, /run "deskbell sending resume"/);

    // what somebody asks for is sent, and nothing else
    await runCommand(['send', '--all', '--detach', ...message], { environment });
    await worker.waitFor(/"event":"summary","id":3,"state":"done"/);
    assert.deepEqual(received(), [1, 1]);

    const resumed = await runCommand(resume[1]!.split(' '));
    assert.equal(resumed.exitCode, 0, resumed.stderr);
    assert.equal(resumed.stdout, 'Sending is resumed.\n');
    assert.match(resumed.stderr, /Schedule 1 has missed \S+Z, which is left out\.\n/);
    assert.equal(
      (await runCommand(['sending', 'show', '--data', restored])).stdout,
      'Sending is not paused.\n',
    );
    await runCommand(['send', '--all', '--detach', ...message], { environment });
    await worker.waitFor(/"event":"summary","id":4,"state":"done"/);
    assert.deepEqual(received(), [2, 2], 'neither the missed time nor the broadcast of before');
    assert.equal(await worker.end(), 0);
    assert.equal(await service.end(), 0);
  });

  test('is what "sending pause" makes of a copy of the disk, and resumes with its broadcasts on request', async (t) => {
    const { run, environment, received } = await setUp(t);
    assert.equal((await run('sending show')).stdout, 'Sending is not paused.\n');
    const paused = await run('sending pause');
    assert.equal(paused.stdout, 'Sending is paused.\n');
    // it names no option that the command does not have
    assert.match(paused.stderr, / sending resume --data \S+\n/);
    const waiting = (await run('sending show')).stdout;
    assert.match(
      waiting,
      /^Sending has been paused since .* sending resume --data \S+\nIt starts:\n {2}1 schedule\n {2}1 webhook event, .* broadcasts resume 1 /s,
    );
    const shown = JSON.parse((await run('sending show --json')).stdout) as Record<string, unknown>;
    const { since, missed, ...others } = shown;
    assert.ok(since);
    assert.equal((missed as unknown[]).length, 1);
    assert.deepEqual(others, {
      paused: true,
      reason: 'asked',
      schedules: 1,
      webhookEvents: 1,
      broadcasts: [1],
    });
    const stored = await run(['send', '--all', '--cron', '0 9 2 1 *', ...message]);
    assert.match(
      stored.stderr,
      /Sending is paused, so that nothing is sent by schedules until this command:\n/,
    );

    // the next time of those that have missed none
    assert.match((await run('sending show')).stdout, /\n {2}2 schedules, the next one at \d{4}-01-0[12]T/);

    const resume = ['sending', 'resume', '--with-broadcasts', '--with-missed'];
    const resumed = await run(resume);
    assert.equal(resumed.stdout, 'Sending is resumed.\n');
    assert.doesNotMatch(resumed.stderr, /has missed|stay paused/);
    assert.equal((await run(resume)).stdout, 'Sending was not paused.\n');
    await run('sending pause');
    const again = JSON.parse((await run([...resume, '--json'])).stdout) as Record<string, unknown>;
    assert.deepEqual([again['paused'], again['resumed']], [false, [1]]);
    const worker = runUntilStopped('worker --json', { environment });
    await worker.waitFor(/"event":"summary","id":1,"state":"done"/);
    await worker.waitFor(/"event":"summary","id":2,"state":"done"/);
    assert.equal(await worker.end(), 0);
    assert.deepEqual(received(), [2, 2]);
  });
});

// `deskbell alarms`: what is wrong now, and who knows of it.

test('lists what is wrong, and acknowledges it with a name and a note, which the audit keeps', async () => {
  const { data, run } = await newData();
  const none = await run('alarms list');
  const words = 'Nothing is wrong now. "deskbell broadcasts show" prints the alarms of a broadcast.\n';
  assert.deepEqual([none.stdout, none.stderr, none.exitCode], ['', words, 0]);

  const input = JSON.stringify(exampleSubscription(1));
  await run('subscriptions import -', input);
  const flags = ['--title', 't', '--message', 'm', '--subject', 'mailto:push@example.org'];
  await run(['send', '--all', '--at', '2099-01-01T09:00:00Z', ...flags]);
  await run('sending pause');
  const paused = await run('alarms list');
  assert.match(
    paused.stdout,
    /^sending-paused  Sending is paused\n  1 broadcast, since 20.*Z, broadcasts 1\n  Reason: by "deskbell sending pause".*resume"\.\n$/,
  );
  const note = ['--note', 'Until the copy is gone.'];
  const known = await run(['alarms', 'acknowledge', 'sending-paused', '--name', 'ann', ...note]);
  assert.equal(known.stdout, 'Acknowledged sending-paused as ann.\n', known.stderr);
  const { acknowledgement } = JSON.parse((await run('alarms list --json')).stdout);
  assert.deepEqual([acknowledgement.operator, acknowledgement.note], ['ann', 'Until the copy is gone.']);
  assert.match(
    (await run('alarms list')).stdout,
    /\n  ann knows of it since 20.*: Until the copy is gone\.\n$/,
  );
  const [record, earlier] = parseLines((await run('audit --json')).stdout);
  assert.equal(earlier.action, 'sending.pause');
  const { operator, action, target, status } = record;
  assert.deepEqual(
    [operator, action, target, status],
    ['ann', 'alarm.acknowledge', 'alarm sending-paused', 200],
  );

  const unknown = await run(['alarms', 'acknowledge', 'no-worker', ...note]);
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.stderr, /No alarm "no-worker" stands\. It has ended; .*ERR_ALARM_NOT_FOUND/);
  assert.equal((await run('alarms acknowledge sending-paused')).exitCode, 2, 'a note is needed');
  const empty = await run(['alarms', 'acknowledge', 'sending-paused', '--note', ' ']);
  assert.match(empty.stderr, /It must have 1 to 500 characters/);

  changeDatabase(data, 'drop table acknowledgements');
  const broken = await run(['alarms', 'acknowledge', 'sending-paused', '--name', 'ann', ...note]);
  assert.equal(broken.exitCode, 1);
  const records = parseLines((await run('audit --json')).stdout);
  assert.deepEqual(pluck(records, 'status'), [503, 404, 200, 200]);
});

test('the audit names a user that has no name by its number', async (t) => {
  const { run } = await newData();
  const unknown = t.mock.method(os, 'userInfo', () => {
    throw Object.assign(new Error('uv_os_get_passwd'), { code: 'ENOENT', syscall: 'uv_os_get_passwd' });
  });
  syncBuiltinESMExports();
  t.after(() => {
    unknown.mock.restore();
    syncBuiltinESMExports();
  });
  await run('alarms acknowledge no-worker --note Known.');
  const { stdout } = await run('audit --json');
  assert.equal(JSON.parse(stdout).operator, `uid ${process.getuid?.() ?? 'unknown'}`);
});

// `deskbell held-deletions`: an operator decides about subscriptions that a push service called gone.

const origin = 'https://fcm.googleapis.com';
const rows = 100;

/** A data directory whose push service called everything gone, one message at a time. */
async function heldData(): Promise<{ readonly data: string; readonly held: number }> {
  const data = await temporaryFolder();
  const { store, vapidKeys, close } = await openDataDirectory(data);
  for (let index = 0; index < rows; index += 1) {
    const subscription = madeUpSubscription(index);
    await store.subscriptions.put(subscription, vapidKeys.publicKey);
    await recordAnswer(store, subscription, 'gone', origin);
  }
  for (let index = 0; index < 200; index += 1) {
    await recordAnswer(store, madeUpSubscription(9999), 'other', origin);
  }
  const held = await store.subscriptions.count();
  await close();
  return { data, held };
}

async function countRows(data: string): Promise<number> {
  const { stdout } = await runCommand(['subscriptions', 'export', '--data', data]);
  return stdout.split('\n').length - 1;
}

suite('deskbell held-deletions', { concurrency: true }, () => {
  test('list names the push service, how many, and since when; discard keeps what is held; another push service is an error', async () => {
    const { data, held } = await heldData();
    const { stdout, exitCode } = await runCommand(['held-deletions', 'list', '--data', data]);
    assert.equal(exitCode, 0);
    assert.match(stdout, new RegExp(`^https://fcm\\.googleapis\\.com  ${held} since \\d{4}-.*Z\n$`));
    const json = await runCommand(['held-deletions', 'list', '--data', data, '--json']);
    const { since, ...others } = JSON.parse(json.stdout) as { since: string };
    assert.deepEqual(others, { origin, subscriptions: held });
    assert.ok(Math.abs(Date.parse(since) - Date.now()) < 3_600_000);
    const other = await runCommand(['held-deletions', 'confirm', 'https://push.example', '--data', data]);
    assert.match(
      other.stderr,
      /No deletions are held for https:\/\/push\.example\. See `deskbell held-deletions list`\. \[/,
    );
    assert.notEqual(other.exitCode, 0);
    const none = await runCommand(['held-deletions', 'confirm', 'everything', '--data', data]);
    assert.match(none.stderr, /must be the origin of a push service/);
    const { stdout: audited } = await runCommand(['audit', '--json', '--data', data]);
    const { action, target, status } = JSON.parse(audited);
    const refused = ['held-deletions.confirm', 'push service https://push.example', 404];
    assert.deepEqual([action, target, status], refused);
    const discarded = await runCommand(['held-deletions', 'discard', origin, '--json', '--data', data]);
    assert.deepEqual(JSON.parse(discarded.stdout), { origin, subscriptions: held });
    assert.equal(await countRows(data), held);
  });

  test('confirm deletes what is held', async () => {
    const { data, held } = await heldData();
    const { stdout } = await runCommand(['held-deletions', 'confirm', origin, '--data', data]);
    assert.equal(stdout, `Deleted ${held} subscriptions of ${origin}\n`);
    assert.equal(await countRows(data), 0);
    const listed = await runCommand(['held-deletions', 'list', '--data', data]);
    assert.equal(listed.stdout, '');
    assert.match(listed.stderr, /No deletions are held/);
  });
});

// `deskbell send --cron` and `deskbell schedules`, as processes of their own, with a worker that makes the broadcast.

suite('schedules of the command line', () => {
  let pushService: PushService;
  before(async () => {
    pushService = await startPushService({ checksBodies: false });
  });
  after(() => pushService.close());

  test('a schedule is stored, listed and removed', async () => {
    const { data, run } = await newData(pushService);
    const times = ['--cron', '0 9 * * 1', '--timezone', 'Europe/Berlin', '--local-time', '10:00'];
    const options =
      '--ttl 7200 --urgency high --topic tea --priority high --per-person 3/day --skip-inactive 10 --if-time-passed skip ' +
      '--quiet-hours 22:00-07:00';
    const stored = await run([
      'send',
      '--tag',
      'news',
      ...times,
      ...options.split(' '),
      '--receipts',
      ...message,
    ]);
    assert.equal(stored.exitCode, 0, stored.stderr);
    assert.match(stored.stdout, /^Schedule 1 sends first at \d{4}-\d\d-\d\dT0[78]:00:00.000Z\.\n$/);
    assert.match(stored.stderr, / worker .*\n/);
    const listed = await run('schedules list');
    assert.match(
      listed.stdout,
      /^1 {2}0 9 \* \* 1 {2}Europe\/Berlin {2}next \S+ {2}\{"tags":\{"all":\["news"\]\}\} {2}"Monday"\n$/,
    );
    const [schedule] = parseLines((await run('schedules list --json')).stdout);
    // the readers’ own where it is known, else that of the schedule
    assert.deepEqual([schedule['timezone'], schedule['timeZone']], ['Europe/Berlin', undefined]);
    assert.deepEqual([schedule['perPerson'], schedule['receipts']], ['3/day', true]);
    assert.deepEqual(schedule['message'], { title: 'Monday', message: 'A new week' });
    const shown = (await run('schedules show 1')).stdout;
    const shownOptions = options.replace('--if-', '--local-time 10:00 --if-');
    assert.match(shown, new RegExp(`\\n {2}with +${shownOptions}\\n {2}next( +\\S+Z\\n){3}$`));
    assert.equal((await run('schedules pause 1')).stdout, 'Schedule 1 is paused.\n');
    assert.match((await run('schedules list')).stdout, /paused since \d{4}-/);
    const paused = JSON.parse((await run('schedules show 1 --json')).stdout) as Record<string, unknown>;
    assert.deepEqual([paused['nextTimes'], paused['nextAt']], [[], undefined]);
    // its time comes meanwhile
    changeDatabase(data, 'update schedules set next_at_ms = 0');
    const resumed = /^Schedule 1 sends next at 20\d\d\S+Z\.\n$/;
    assert.match((await run('schedules resume 1')).stdout, resumed);
    assert.equal((await run('schedules remove 1')).stdout, 'Removed schedule 1\n');
    const again = await run('schedules remove 1');
    assert.equal(again.exitCode, 1);
    assert.match(again.stderr, /ERR_SCHEDULE_NOT_FOUND/);
    assert.match((await run('schedules list')).stderr, /No schedules yet/);
  });

  test('a worker that is running makes the broadcast when its time has come, and delivers it', async () => {
    const { data, environment, publicKey, run } = await newData(pushService);
    await run(['send', '--all', '--cron', '0 9 29 2 *', ...message]);
    const worker = runUntilStopped('worker --json', { environment });
    await worker.waitFor(/"event":"ready"/);
    const lines = [...pushService.createSinks(3, { vapidPublicKey: publicKey })];
    const input = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
    await run('subscriptions import -', input);
    const database = new DatabaseSync(join(data, 'deskbell.db'), { timeout: 60_000 });
    const setNext = database.prepare('update schedules set next_at_ms = ?');
    const isSetAnew = database.prepare('select 1 from schedules where next_at_ms > ?');
    setNext.run(Date.now() - 2 * 3_600_000);
    await until(() => isSetAnew.get(Date.now()) !== undefined, 'that the time was found to be missed');
    setNext.run(Date.now());
    database.close();
    await worker.waitFor(/"event":"summary"/);
    const missed =
      /^deskbell: Schedule 1 was not sent at \S+Z or soon after, because no worker was running\.$/m;
    assert.match(worker.written(), missed);
    assert.equal(await worker.end(), 0);
    const [broadcast] = parseLines((await run('broadcasts list --json')).stdout).toReversed();
    assert.equal(broadcast.counts.accepted, 3);
    assert.match(broadcast.idempotencyKey, /^schedule\/1\//);
    const shown = (await run('schedules show 1')).stdout;
    assert.match(shown, new RegExp(`last broadcast  ${broadcast.id} of \\S+Z, done, 3 accepted\n`));
  });
});
