// A restored store, and one whose sending was paused by a command, with real processes: what they send and what they say.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test, type TestContext } from 'node:test';
import { startPushService } from '../../src/push-service/index.ts';
import {
  environmentFor,
  parseLines,
  runCommand,
  runUntilStopped,
  serve,
  temporaryFolder,
} from './run-command.ts';

const message = ['--title', 'Monday', '--message', 'A new week'];

/** Data with two subscribers, a broadcast, a schedule whose time has come and an event for a webhook. */
async function setUp(t: TestContext) {
  const pushService = await startPushService({ checksBodies: false });
  t.after(() => pushService.close());
  const folder = await temporaryFolder();
  const data = join(folder, 'data');
  const environment = environmentFor(data, pushService);
  const run = async (...words: string[]) => {
    const done = await runCommand(words, { environment });
    assert.equal(done.exitCode, 0, done.stderr);
    return done;
  };
  const { publicKey } = JSON.parse((await run('keys', 'generate', '--json')).stdout) as {
    publicKey: string;
  };
  const sinks = [...pushService.createSinks(2, { vapidPublicKey: publicKey })];
  const input = sinks.map((sink) => `${JSON.stringify(sink)}\n`).join('');
  assert.equal((await runCommand(['subscriptions', 'import', '-'], { environment, input })).exitCode, 0);
  await run('send', '--all', '--detach', ...message);
  await run('send', '--all', '--cron', '0 9 1 1 *', ...message);
  const database = new DatabaseSync(join(data, 'deskbell.db'), { timeout: 60_000 });
  database.exec(`
    update schedules set next_at_ms = ${Date.now() - 60_000};
    insert into webhook_events (id, type, at_ms, due_at_ms, attempts, broadcast_id)
      values ('${'0'.repeat(32)}', 'broadcast.done', ${Date.now()}, 0, 0, 1)`);
  database.close();
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
    await run('send', '--all', '--at', '2037-01-01T09:00:00Z', ...message);
    await run('backup', '--with-keys', backup);
    const restored = join(folder, 'restored');
    const { stderr } = await runCommand(['restore', backup, '--data', restored]);
    assert.match(
      stderr,
      /^It sends nothing by itself: neither broadcasts nor schedules nor webhook events\.\n/,
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
    const worker = runUntilStopped(['worker', '--json'], { environment });
    await worker.waitFor(/"event":"ready"/);
    assert.match(
      worker.written(),
      /^deskbell: Sending has been paused since .*run "deskbell sending resume"\.$/m,
    );
    const service = await serve(['--deliver'], { environment });
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
    assert.equal((await run('sending', 'show')).stdout, 'Sending is not paused.\n');
    const paused = await run('sending', 'pause');
    assert.equal(paused.stdout, 'Sending is paused.\n');
    // it names no option that the command does not have
    assert.match(paused.stderr, / sending resume --data \S+\n/);
    const waiting = (await run('sending', 'show')).stdout;
    assert.match(
      waiting,
      /^Sending has been paused since .* sending resume --data \S+\nIt starts:\n {2}1 schedule\n {2}1 webhook event, .* broadcasts resume 1 /s,
    );
    const shown = JSON.parse((await run('sending', 'show', '--json')).stdout) as Record<string, unknown>;
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
    const stored = await run('send', '--all', '--cron', '0 9 2 1 *', ...message);
    assert.match(
      stored.stderr,
      /Sending is paused, so that nothing is sent by schedules until this command:\n/,
    );

    // the next time of those that have missed none
    assert.match((await run('sending', 'show')).stdout, /\n {2}2 schedules, the next one at \d{4}-01-0[12]T/);

    const resume = ['sending', 'resume', '--with-broadcasts', '--with-missed'];
    const resumed = await run(...resume);
    assert.equal(resumed.stdout, 'Sending is resumed.\n');
    assert.doesNotMatch(resumed.stderr, /has missed|stay paused/);
    assert.equal((await run(...resume)).stdout, 'Sending was not paused.\n');
    await run('sending', 'pause');
    const again = JSON.parse((await run(...resume, '--json')).stdout) as Record<string, unknown>;
    assert.deepEqual([again['paused'], again['resumed']], [false, [1]]);
    const worker = runUntilStopped(['worker', '--json'], { environment });
    await worker.waitFor(/"event":"summary","id":1,"state":"done"/);
    await worker.waitFor(/"event":"summary","id":2,"state":"done"/);
    assert.equal(await worker.end(), 0);
    assert.deepEqual(received(), [2, 2]);
  });
});
