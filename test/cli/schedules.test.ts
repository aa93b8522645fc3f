// `deskbell send --cron` and `deskbell schedules`, as processes of their own, with a worker that makes the broadcast.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { until } from '../../tools/until.ts';
import { startPushService, type PushService } from '../../src/push-service/index.ts';
import { environmentFor, parseLines, runCommand, runUntilStopped, temporaryFolder } from './run-command.ts';

const message = ['--title', 'Monday', '--message', 'A new week'];

suite('schedules of the command line', () => {
  let pushService: PushService;
  before(async () => {
    pushService = await startPushService({ checksBodies: false });
  });
  after(() => pushService.close());

  async function setUp() {
    const data = await temporaryFolder();
    const environment = environmentFor(data, pushService);
    const run = (...words: string[]) => runCommand(words, { environment });
    const { publicKey } = JSON.parse((await run('keys', 'generate', '--json')).stdout) as {
      publicKey: string;
    };
    return { data, environment, publicKey, run };
  }

  test('a schedule is stored, listed and removed', async () => {
    const { data, run } = await setUp();
    const times = ['--cron', '0 9 * * 1', '--timezone', 'Europe/Berlin', '--local-time', '10:00'];
    const options =
      '--ttl 7200 --urgency high --topic tea --priority high --per-person 3/day --skip-inactive 10 --if-time-passed skip ' +
      '--quiet-hours 22:00-07:00';
    const stored = await run(
      'send',
      '--tag',
      'news',
      ...times,
      ...options.split(' '),
      '--receipts',
      ...message,
    );
    assert.equal(stored.exitCode, 0, stored.stderr);
    assert.match(stored.stdout, /^Schedule 1 sends first at \d{4}-\d\d-\d\dT0[78]:00:00.000Z\.\n$/);
    assert.match(stored.stderr, / worker .*\n/);
    const listed = await run('schedules', 'list');
    assert.match(
      listed.stdout,
      /^1 {2}0 9 \* \* 1 {2}Europe\/Berlin {2}next \S+ {2}\{"tags":\{"all":\["news"\]\}\} {2}"Monday"\n$/,
    );
    const [schedule] = parseLines((await run('schedules', 'list', '--json')).stdout);
    // the readers’ own where it is known, else that of the schedule
    assert.deepEqual([schedule['timezone'], schedule['timeZone']], ['Europe/Berlin', undefined]);
    assert.deepEqual([schedule['perPerson'], schedule['receipts']], ['3/day', true]);
    assert.deepEqual(schedule['message'], { title: 'Monday', message: 'A new week' });
    const shown = (await run('schedules', 'show', '1')).stdout;
    const shownOptions = options.replace('--if-', '--local-time 10:00 --if-');
    assert.match(shown, new RegExp(`\\n {2}with +${shownOptions}\\n {2}next( +\\S+Z\\n){3}$`));
    assert.equal((await run('schedules', 'pause', '1')).stdout, 'Schedule 1 is paused.\n');
    assert.match((await run('schedules', 'list')).stdout, /paused since \d{4}-/);
    const paused = JSON.parse((await run('schedules', 'show', '1', '--json')).stdout) as Record<
      string,
      unknown
    >;
    assert.deepEqual([paused['nextTimes'], paused['nextAt']], [[], undefined]);
    // its time comes meanwhile
    const database = new DatabaseSync(join(data, 'deskbell.db'), { timeout: 60_000 });
    database.exec('update schedules set next_at_ms = 0');
    database.close();
    const resumed = /^Schedule 1 sends next at 20\d\d\S+Z\.\n$/;
    assert.match((await run('schedules', 'resume', '1')).stdout, resumed);
    assert.equal((await run('schedules', 'remove', '1')).stdout, 'Removed schedule 1\n');
    const again = await run('schedules', 'remove', '1');
    assert.equal(again.exitCode, 1);
    assert.match(again.stderr, /ERR_SCHEDULE_NOT_FOUND/);
    assert.match((await run('schedules', 'list')).stderr, /No schedules yet/);
  });

  test('times that are none, and flags that do not go together, are refused', async () => {
    const { run } = await setUp();
    const nonsense = await run('send', '--all', '--cron', '0 25 * * *', ...message);
    assert.equal(nonsense.exitCode, 1);
    assert.match(nonsense.stderr, /hour: 25.*ERR_SCHEDULE_INVALID/);
    for (const words of [
      ['--all', '--timezone', 'Europe/Berlin'],
      ['--ids', '1,2', '--cron', '0 9 * * 1'],
      ['--file', '-', '--cron', '0 9 * * 1'],
      ['--all', '--cron', '0 9 * * 1', '--detach'],
      ['--all', '--cron', '0 9 * * 1', '--idempotency-key', 'monday'],
      ['--id', '1', '--per-person', '3/day'],
      ['--all', '--per-person', '3/month'],
      ['--all', '--cron', '0 9 * * 1', '--at', '2027-01-01T00:00:00Z'],
    ]) {
      assert.equal((await run('send', ...words, ...message)).exitCode, 2, words.join(' '));
    }
    for (const [flag, value, expected] of [
      ['--local-time', '9', 'a local time such as 09:00 or 2026-12-01T09:00'],
      ['--timezone', 'Berlin', 'the name of a time zone, such as Europe/Berlin'],
    ] as const) {
      const { stderr } = await run('send', '--all', flag, value, ...message);
      assert.match(stderr, new RegExp(`"${flag}" must be ${expected}, not this string\\.`));
    }
  });

  test('a worker that is running makes the broadcast when its time has come, and delivers it', async () => {
    const { data, environment, publicKey, run } = await setUp();
    await run('send', '--all', '--cron', '0 9 29 2 *', ...message);
    const worker = runUntilStopped(['worker', '--json'], { environment });
    await worker.waitFor(/"event":"ready"/);
    const lines = [...pushService.createSinks(3, { vapidPublicKey: publicKey })];
    const input = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
    await runCommand(['subscriptions', 'import', '-'], { input, environment });
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
    const [broadcast] = parseLines((await run('broadcasts', 'list', '--json')).stdout).toReversed();
    assert.equal(broadcast.counts.accepted, 3);
    assert.match(broadcast.idempotencyKey, /^schedule\/1\//);
    const shown = (await run('schedules', 'show', '1')).stdout;
    assert.match(shown, new RegExp(`last broadcast  ${broadcast.id} of \\S+Z, done, 3 accepted\n`));
  });
});
