// `deskbell send` to many, `deskbell broadcasts`, `deskbell worker` and `serve --deliver`.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { createReceiptTokens } from '../../src/protocol/message/receipt-token.ts';
import { startPushService, type PushService } from '../../src/push-service/index.ts';
import {
  changeDatabase,
  dataWithSinks,
  outputOf,
  parseLines,
  runCommand,
  type RunResult,
  runUntilStopped,
  spawnUntilStopped,
} from './run-command.ts';
import { until } from '../../tools/until.ts';
import { idlePushService, workerReport } from '../store/made-up-subscription.ts';
import { pluck } from '../../tools/pluck.ts';
import { sendJson } from '../service/running-service.ts';

const message = ['--title', 'Ding dong', '--message', 'Tea is ready'];

/** What a push service answers that takes no message. */
const badPath = { kind: 'status', status: 400, body: '{"reason":"BadPath"}' } as const;

const unreachable = /^deskbell: push\.example\.net cannot be reached from push-2\./m;

/** Another machine says that it cannot reach a push service, for as long as a test may take. */
async function reportUnreachable(data: string): Promise<void> {
  const { store, close } = await openDataDirectory(data);
  const away = { ...idlePushService, breaker: 'open', unreachableMs: 16_000 } as const;
  await store.senders.put({ ...workerReport, machine: 'push-2', kind: 'single', pushServices: [away] });
  await close();
  changeDatabase(data, 'update senders set seen_at_ms = seen_at_ms + 3600000');
}

/** The lines of rows that were settled without an attempt, as far as their outcome. */
const unsent = ({ stdout }: RunResult) => stdout.match(/(?<= )\d+ {2}#0 {2}capped(?= )/g)?.toSorted();

const attemptsIn = ({ stdout }: RunResult) => stdout.match(/^.* #1 {2}accepted .*$/gm) ?? [];

suite('broadcasts of the command line', () => {
  let pushService: PushService;
  before(async () => {
    pushService = await startPushService({ checksBodies: false });
  });
  after(() => pushService.close());

  /** A data directory with `count` sinks, and a way to run commands on it. */
  async function setUp(count: number) {
    const batches = pushService.tallySinks().length;
    const made = await dataWithSinks(pushService, count);
    /** What the sinks have got, in all and at most by one. */
    const received = () => {
      const { messages = 0, sinksByMessages = {} } = pushService.tallySinks()[batches] ?? {};
      return { messages, most: Math.max(...Object.keys(sinksByMessages).map(Number)) };
    };
    return { ...made, received };
  }

  test('the summary adds up to the audience; show says what came of it to a person’s devices, also of those that have ended', async () => {
    const { lines, run } = await setUp(40);
    const { endpoint } = JSON.parse(lines[3] ?? '') as { endpoint: string };
    pushService.expire(endpoint);
    const ofAda = '{"user":"ada","tags":["news","de"],';
    const input = [lines[3], lines[6]].map((line) => line?.replace('{', ofAda)).join('\n');
    await outputOf(run('subscriptions import -', input));
    const { exitCode, stdout, stderr } = await run(['send', '--all', ...message]);
    assert.equal(exitCode, 0, stderr);
    assert.equal(stderr, '');
    assert.match(stdout, /^Broadcast 1 to 40 subscriptions\.\n/);
    assert.match(stdout, /Broadcast 1 is done in \d+ s:\n/);
    assert.match(stdout, /^ +39 accepted /m);
    assert.match(stdout, /^ +1 gone /m);
    assert.match(stdout, /^ +40 in total$/m);
    assert.match(stdout, new RegExp(`^ +${new URL(pushService.origin).host} +39 +1 +40$`, 'm'));
    assert.ok(!stdout.includes('\u001b'), 'no terminal, no control characters');

    const why = (await run('subscriptions show --user ada --broadcast 1')).stdout;
    assert.deepEqual(
      why
        .replaceAll(/\d{4}-\S+Z/g, 'TIME')
        .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
        .split('\n'),
      [
        'Subscription 7: HOST, user ada, tags de, news, registered TIME, renewed TIME',
        'Subscription 4 is not stored.',
        '',
        'Broadcast 1 “Ding dong”, TIME',
        '  7  accepted: HOST accepted it at TIME.',
        '  4  gone: HOST said that the subscription has ended at TIME: “errno 106: the subscription has ended”.',
        '',
      ],
    );
    const [, registered = '', renewed = ''] = /registered (\S+), renewed (\S+)\n/.exec(why) ?? [];
    assert.equal(renewed, registered, 'an import is no visit of the browser');
    assert.equal((await run('subscriptions show --user ada')).stdout, why);
  });

  test('messages that are not accepted make the exit code 1, and their reason is told once', async () => {
    const { data, run, received } = await setUp(300);
    const fault = pushService.faults.inject(badPath);
    const { exitCode, stdout, stderr } = await run(['send', '--all', '--log-messages', 'failed', ...message]);
    pushService.faults.cancel(fault.id);
    assert.equal(exitCode, 1);
    assert.match(stdout, /300 rejected/);
    const ofAlarm = /^ {2}! 127\.0\.0\.1:\d+ .*BadPath.*: 300 messages$/m;
    const shown = (await run('broadcasts show 1 --attempts --limit 1')).stdout;
    for (const summary of [stdout, shown]) assert.match(summary, ofAlarm);
    const attempt = /^ {2}\d{4}-\S+Z +\d+ {2}#1 {2}rejected {2}http\S+ {2}400 {2}bad-request {2}BadPath$/m;
    assert.match(shown, attempt);
    const logged = stderr.matchAll(
      /^Broadcast 1, subscription (\d+): rejected at \S+, status 400, bad-request/gm,
    );
    assert.equal(new Set(Array.from(logged, ([, id]) => id)).size, 300, 'a line for each message');
    assert.ok(!/\/wpush\/|Ding dong/.test(stderr), 'neither endpoint nor message');
    assert.equal(stderr.match(/BadPath/g)?.length, 1, stderr);
    assert.match(stderr, /ERR_NOT_ACCEPTED/);
    assert.equal(received().messages, 0);
    assert.equal((await run('subscriptions list --json')).stdout.split('\n').length - 1, 300);
    await reportUnreachable(data);
    const accepted = await run(['send', '--all', '--log-messages', 'failed', ...message]);
    assert.match(accepted.stderr, unreachable);
    assert.equal(accepted.exitCode, 0);
    assert.ok(!/subscription \d+:/.test(accepted.stderr), accepted.stderr);
  });

  test('--ids and --file reach these and nobody else', async () => {
    const { data, environment, lines, run, received } = await setUp(10);
    await outputOf(run(['send', '--ids', '2, 5', ...message]));
    assert.equal(received().messages, 2);

    const file = join(data, 'list.jsonl');
    await writeFile(file, lines.slice(0, 3).join('\n'));
    const words = ['--file', file, '--json', '--log-messages', 'all', ...message];
    const { exitCode, stdout } = await run(['send', ...words]);
    assert.equal(exitCode, 0);
    const events = parseLines(stdout);
    assert.equal(events.at(-1).counts.accepted, 3);
    assert.deepEqual(
      events.flatMap(({ event, subscription }) => (event === 'message' ? [subscription] : [])),
      [undefined, undefined, undefined],
    );
    assert.equal(received().messages, 5);
    const input = lines.slice(0, 2).join('\n');
    await outputOf(runCommand(['send', '--file', '-', ...message], { input, environment }));
    assert.equal(received().messages, 7);

    const whole = JSON.parse(lines[0]!) as object;
    for (const wrong of [{}, whole]) {
      const line = JSON.stringify({ ...wrong, endpoint: 'https://unknown.example.net/x' });
      await writeFile(file, `${lines[0]}\n${line}\n`);
      const refused = await run(['send', '--file', file, ...message]);
      assert.equal(refused.exitCode, 1);
      assert.match(
        refused.stderr,
        /Line 2 is not a subscription.*not a known push service.*nothing was sent.*ERR_LINES_REFUSED/,
      );
    }
    const table = join(data, 'table.csv');
    await writeFile(table, 'endpoint,p256dh,auth\n');
    const { stderr } = await run(['send', '--file', table, ...message]);
    assert.match(stderr, /Line 1 is not a subscription: the line is not well-formed JSON; nothing was sent/);
    assert.match((await run(['send', '--file', join(data, 'none'), ...message])).stderr, /ERR_FILE/);
    assert.equal(received().messages, 7);
  });

  test('a repeated command with the same key sends nothing twice', async () => {
    const { run, received } = await setUp(5);
    const words = ['send', '--all', '--idempotency-key', 'tea', ...message];
    await run(words);
    const { exitCode, stdout } = await run(words);
    assert.equal(exitCode, 0);
    assert.match(stdout, /is already done/);
    assert.match((await run([...words, '--detach'])).stdout, /is already done/);
    assert.equal(received().messages, 5);
    const other = await run([...words, '--topic', 'other']);
    assert.equal(other.exitCode, 1);
    assert.match(other.stderr, /ERR_IDEMPOTENCY_KEY/);
  });

  test('Ctrl-C pauses, counts what was in flight, and says how to resume; resuming sends nothing twice', async () => {
    const { environment, run, received } = await setUp(1000);
    const delay = pushService.faults.inject({ kind: 'delay', ms: 100 });
    const sending = runUntilStopped(['send', '--all', '--json', ...message], { environment });
    await until(() => received().messages >= 100, '100 messages');
    assert.equal(await sending.end('SIGINT'), 1);
    pushService.faults.cancel(delay.id);
    const written = sending.written();
    assert.match(
      written,
      /To resume it:\n {2}(.*main\.cts broadcasts resume 1 --data \S+ --subject mailto:push@example\.org --push-services \S+ --threads 1)\n.*ERR_BROADCAST_UNFINISHED/,
    );
    const summary = parseLines(written.match(/^\{.*$/gm)!.at(-1)!)[0];
    assert.equal(summary.counts.accepted, received().messages);
    assert.equal(summary.counts.accepted + summary.counts.pending, 1000);

    assert.match((await run('broadcasts list')).stdout, /^ +1 +paused /m);
    const [, words = ''] = /To resume it:\n {2}.*main\.cts (.+)\n/.exec(written) ?? [];
    const resumed = await runCommand([...words.split(' '), '--json', '--log-messages', 'all']);
    const events = parseLines(resumed.stdout);
    assert.equal(events.at(-1).counts.accepted, 1000);
    assert.equal(events.filter(({ event }) => event === 'message').length, summary.counts.pending);
    assert.deepEqual(received(), { messages: 1000, most: 1 });
  });

  test('a scheduled or detached broadcast is left to a worker, which tells what it does', async () => {
    const { data, environment, run, received } = await setUp(20);
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const scheduled = await run(['send', '--all', '--at', at, ...message]);
    assert.equal(scheduled.exitCode, 0);
    assert.match(scheduled.stdout, /is scheduled for/);
    assert.match(
      scheduled.stderr,
      /\n {2}.* worker --data \S+ --subject \S+ --push-services \S+ --threads 1\n/,
    );
    await run(['send', '--all', '--detach', '--receipts', ...message]);
    assert.equal(received().messages, 0);

    const worker = runUntilStopped('worker --json --log-messages all', { environment });
    await worker.waitFor(/"event":"ready"/);
    const logged = () =>
      parseLines(
        worker
          .written()
          .match(/^\{"event":"message".*$/gm)
          ?.join('\n') ?? '',
      );
    await until(() => logged().length === 20, 'a line for each message');
    const records = logged();
    assert.equal(new Set(records.map(({ subscription }) => subscription)).size, 20);
    const { subscription: _id, ...record } = records[0];
    const told = { event: 'message', broadcast: 2, pushService: pushService.origin, outcome: 'accepted' };
    assert.deepEqual(record, { ...told, attempt: 1, status: 201 });
    await worker.waitFor(/"event":"summary","id":2,"state":"done"/);
    assert.deepEqual(received(), { messages: 20, most: 1 }, 'the scheduled one waits');
    await reportUnreachable(data);
    await until(() => unreachable.test(worker.written()), 'what it says of push services');
    const database = new DatabaseSync(join(data, 'deskbell.db'), { timeout: 60_000 });
    const workers = database.prepare(`select id from senders where report ->> 'kind' = 'worker'`);
    await until(() => workers.get() !== undefined, "the worker's report");
    for (const time of [
      ['--at', at],
      ['--cron', '0 0 29 2 *'],
    ]) {
      const { exitCode, stderr } = await run(['send', '--all', ...time, ...message]);
      assert.deepEqual([exitCode, stderr], [0, ''], 'where a worker runs, none is asked for');
    }
    // its state is set too, so that the times at which it can be leased are noted anew
    database.exec("update broadcasts set start_at_ms = 0, state = 'running' where id = 1");
    database.close();
    await worker.waitFor(/"event":"summary","id":1,"state":"done"/);
    assert.equal(await worker.end('SIGTERM'), 0);
    assert.deepEqual(received(), { messages: 40, most: 2 });
    assert.doesNotMatch(worker.written(), /receiptKey/, 'any worker makes the tokens of receipts');
  });

  test('a serve logs what others deliver: each start and end of a broadcast, each alarm and each worker once', async () => {
    const { data, environment, run } = await setUp(20);
    const fault = pushService.faults.inject(badPath);
    const logFile = join(data, 'records.log');
    const serve = runUntilStopped(['serve', '--port', '0', '--log-file', logFile], { environment });
    await serve.waitFor(/listens on/);
    const logged = (pattern: RegExp) =>
      until(async () => pattern.test(await readFile(logFile, 'utf8')), `${pattern} in the log`);
    const worker = spawnUntilStopped('worker --log-messages failed', { environment });
    await worker.waitFor(/delivers broadcasts/);
    await run(['send', '--all', '--detach', ...message]);
    await worker.waitFor(/^Broadcast 1: \S+ rejects messages: bad-request \(BadPath\)$/m);
    await worker.waitFor(/is done: 20 rejected/);
    pushService.faults.cancel(fault.id);
    await logged(/"state":"done"/);
    await logged(/"event":"worker"/);
    assert.equal(await worker.end('SIGTERM'), 0);
    assert.match(worker.written(), /^Deskbell has stopped\.$/m);
    const lines = worker.written().match(/^Broadcast 1, subscription \d+: rejected at .*\(attempt 1\)$/gm);
    assert.equal(lines?.length, 20, 'a line of text for each message');
    await logged(/"state":"stopped"/);
    assert.equal(await serve.end('SIGTERM'), 0);
    const records = parseLines(await readFile(logFile, 'utf8')).filter(({ event }) => event !== undefined);
    const kinds = records.map(({ event, state }) => [event, state].join(' ').trim());
    const twice = kinds.filter((kind, index) => kinds.indexOf(kind) !== index);
    assert.deepEqual(twice, [], kinds.join(', '));
    for (const kind of ['worker started', 'broadcast done', 'alarm', 'worker stopped'])
      assert.ok(kinds.includes(kind), kinds.join(', '));
    const { machine, processId } = records.find(({ event }) => event === 'worker');
    assert.deepEqual([machine, processId], [hostname(), worker.child.pid]);
  });

  test('the log of serve --deliver holds alarms and rejections, and so does the list', async () => {
    const { data, environment, run } = await setUp(20);
    const fault = pushService.faults.inject(badPath);
    const logFile = join(data, 'records.log');
    const words = ['serve', '--port', '0', '--deliver', '--log-file', logFile, '--log-messages', 'failed'];
    const serve = runUntilStopped(words, { environment });
    await serve.waitFor(/listens on/);
    await run(['send', '--all', '--detach', ...message]);
    await until(
      async () => (await run('broadcasts list')).stdout.includes('done'),
      'the end of the broadcast',
    );
    assert.equal(await serve.end('SIGTERM'), 0);
    pushService.faults.cancel(fault.id);
    const records = parseLines(await readFile(logFile, 'utf8'));
    const messages = records.filter(({ event }) => event === 'message');
    assert.deepEqual(
      new Set(
        messages.map(({ broadcast, outcome, status, reason }) => [broadcast, outcome, status, reason].join()),
      ),
      new Set(['1,rejected,400,bad-request']),
    );
    assert.equal(new Set(messages.map(({ subscription }) => subscription)).size, 20);
    assert.ok(!messages.some((record) => JSON.stringify(record).includes('/wpush/')));
    const alarm = records.find(({ event }) => event === 'alarm');
    assert.deepEqual(
      [alarm.level, alarm.broadcast, alarm.pushService, alarm.reason, alarm.detail],
      [50, 1, pushService.origin, 'bad-request', 'BadPath'],
    );
    const end = records.find(({ event, state }) => event === 'broadcast' && state === 'done');
    assert.deepEqual([end.broadcast, end.recipients, end.rejected, end.accepted], [1, 20, 20, undefined]);
    const workers = records.filter(({ event }) => event === 'worker');
    assert.deepEqual(
      pluck(workers, 'state', 'machine', 'processId', 'threads'),
      [
        ['started', hostname(), process.pid, 1],
        ['stopped', hostname(), process.pid, undefined],
      ],
      'its own start and stop, once',
    );
    const listed = (await run('broadcasts list')).stdout.split('\n').map((line) => line.trim().split(/ +/));
    const columns = ['RECIPIENTS', 'ACCEPTED', 'REJECTED', 'PENDING', 'ALARMS', 'TITLE'];
    assert.deepEqual(listed[0]?.slice(3), columns);
    assert.deepEqual(listed[1]?.slice(3), ['20', '0', '20', '0', '1', 'Ding', 'dong']);
  });

  test('the list has a column for each count that one of its broadcasts has; show names those without an attempt', async () => {
    const { run } = await setUp(2);
    for (const counted of [
      { heading: /ACCEPTED +REJECTED +PENDING/, counts: / 2 +2 +0 +0 +0 +Ding dong$/ },
      { heading: /ACCEPTED +REJECTED +CAPPED +PENDING/, counts: / 2 +0 +0 +2 +0 +0 +Ding dong$/ },
    ]) {
      await run(['send', '--all', '--per-person', '1/day', ...message]);
      const { stdout } = await run('broadcasts list --limit 1');
      const [heading = '', newest = ''] = stdout.split('\n');
      assert.match(heading, counted.heading);
      assert.match(newest, counted.counts);
    }
    // both were settled without an attempt
    const attempts = ['broadcasts', 'show', '2', '--attempts'];
    assert.deepEqual(unsent(await run(attempts)), ['1  #0  capped', '2  #0  capped']);
    assert.deepEqual(unsent(await run([...attempts, '--subscription', '1'])), ['1  #0  capped']);
    // the turn of the second comes in an hour
    const limited = ['--ttl', '60', '--max-rate', `${pushService.origin}=1/h`];
    const { stdout } = await run(['send', '--all', ...limited, ...message]);
    assert.match(stdout, /^ +1 accepted .*\n +1 expired /m);
    const fault = pushService.faults.inject({ kind: 'hang' });
    const silent = await run(['send', '--id', '1', '--response-timeout-ms', '100', ...message]);
    pushService.faults.cancel(fault.id);
    assert.match(silent.stdout, /did not answer within 0\.1 s/);
  });

  test('list, show and cancel tell what there is', async () => {
    const { data, run } = await setUp(3);
    assert.match((await run('broadcasts list')).stderr, /No broadcasts yet/);
    await run(['send', '--all', '--max-rate', `${pushService.origin}=1000/s`, ...message]);
    const database = new DatabaseSync(join(data, 'deskbell.db'), { readOnly: true });
    const limited = database.prepare('select origin from rate_limits').all();
    database.close();
    assert.deepEqual({ ...limited[0] }, { origin: pushService.origin }, 'of all processes together');
    const options = '--ttl 600 --urgency high --topic tea --priority high --per-person 3/day';
    const texts = ['--texts', '{"de":{"title":"Hallo"}}'];
    await run(['send', '--all', '--detach', ...options.split(' '), ...texts, ...message]);

    const listed = parseLines((await run('broadcasts list --json')).stdout);
    assert.deepEqual(pluck(listed, 'id', 'state'), [
      [2, 'running'],
      [1, 'done'],
    ]);
    const shown = await run('broadcasts show 1 --subscription 2 --json');
    const [broadcast, ...attempts] = parseLines(shown.stdout);
    assert.equal(broadcast.counts.accepted, 3);
    assert.equal(broadcast.title, 'Ding dong');
    assert.deepEqual([broadcast.audience, broadcast.createdBy], ['all', { commandLine: hostname() }]);
    assert.match(
      (await run('broadcasts show 1')).stdout,
      new RegExp(`title +Ding dong\n +to +every subscription\n +by +the command line on ${hostname()}\n`),
    );
    assert.match(
      (await run('broadcasts show 2')).stdout,
      new RegExp(`^ {2}with +${options}\\n {2}texts +de: 0, the message's own: 3\\n`, 'm'),
    );
    assert.equal(attempts.length, 1);
    assert.equal(attempts[0].subscriptionId, 2);
    assert.equal(attempts[0].status, 201);
    assert.ok(!shown.stdout.includes('/wpush/'), 'no endpoint is shown');
    assert.match((await run('broadcasts show 1 --attempts')).stdout, /#1 {2}accepted .* 201/);

    const single = await run(['send', '--id', '2', '--log-messages', 'all', '--json', ...message]);
    const { event, broadcast: none, subscription, outcome } = parseLines(single.stdout)[0];
    assert.deepEqual([event, none, subscription, outcome], ['message', undefined, 2, 'accepted']);
    const csv = (await run('broadcasts outcomes 1')).stdout.trimEnd().split('\n');
    assert.match(csv[0]!, /^subscription,user,push_service,state,status,/);
    assert.equal(csv.length, 4);
    assert.match(csv[2]!, /^2,,https?:[^,]+,accepted,201,,,1,/);
    const rows = parseLines((await run('broadcasts outcomes 2 --json')).stdout);
    assert.deepEqual(
      pluck(rows, 'subscriptionId', 'state'),
      [1, 2, 3].map((id) => [id, 'pending']),
    );
    const why = await run('subscriptions show 2');
    assert.match(why.stdout, /^Subscription 2: .*anonymous/);
    assert.match(
      why.stdout,
      /Broadcast 2 “Ding dong”.*\n {2}2 {2}pending: .*turn is still to come[^]*Broadcast 1/,
    );
    assert.ok(!`${why.stdout}${csv.join()}`.includes('/wpush/'), 'no endpoint is shown');
    const newest = await run('subscriptions show 2 --limit 1');
    assert.match(newest.stdout, /Broadcast 2 [^]*$/);
    assert.doesNotMatch(newest.stdout, /Broadcast 1 /);
    assert.match(newest.stderr, /newest 1 broadcasts.*--limit/);
    assert.equal(why.stderr, '');
    const sampled = await run('broadcasts show 1 --attempts --limit 2');
    assert.match(sampled.stderr, /newest 2; --limit gives more/);
    const every = attemptsIn(await run('broadcasts show 1 --attempts'));
    assert.deepEqual([every.length, attemptsIn(sampled)], [3, every.slice(0, 2)]);
    const [, one, ...others] = parseLines((await run('subscriptions show 2 --broadcast 1 --json')).stdout);
    assert.deepEqual([one.state, one.attempts[0].status, others.length], ['accepted', 201, 0]);
    assert.match((await run('subscriptions show 99')).stderr, /ERR_SUBSCRIPTION_NOT_FOUND/);
    assert.match((await run('subscriptions show')).stderr, /ERR_USAGE/);
    assert.match((await run('subscriptions show --user ada')).stderr, /no subscription/);

    assert.match((await run('broadcasts pause 2')).stdout, /^Broadcast 2 is paused; 0 of 3 accepted/);
    assert.match((await run('broadcasts cancel 2')).stdout, /^Broadcast 2 is cancelled/);
    assert.match((await run('broadcasts cancel 1')).stderr, /ERR_BROADCAST_STATE/);
    const unknown = await run('broadcasts show 99');
    assert.equal(unknown.exitCode, 1);
    assert.match(unknown.stderr, /There is no broadcast 99.*ERR_BROADCAST_NOT_FOUND/);
  });

  test('with --receipts, serve takes what browsers report and show counts it beside the outcomes', async () => {
    const { data, environment, lines, run } = await setUp(3);
    const actions = ['--action', 'Open=/', '--action', 'Later=/later'];
    for (const [whom, room] of [
      ['--all', '3,942'],
      ['--id=1', '3,993'],
    ] as const) {
      const dryRun = await run(['send', whom, '--receipts', '--dry-run', ...message, ...actions]);
      assert.match(dryRun.stdout, new RegExp(`of at most ${room} bytes`), whom);
    }
    const sent = await run(['send', '--all', '--receipts', ...message, ...actions]);
    assert.equal(sent.exitCode, 0, sent.stderr);
    const key = Buffer.from(await readFile(join(data, 'receipt-key'), 'utf8'), 'base64url');
    const createToken = createReceiptTokens(key);
    const tokenOf = (subscriptionId: number) => createToken({ broadcastId: 1, subscriptionId });
    const receipts = [
      { token: tokenOf(1), event: 'shown' },
      { token: tokenOf(2), event: 'shown' },
      { token: tokenOf(1), event: 'clicked', action: '1' },
    ];

    const report = async (...flags: string[]): Promise<number> => {
      const service = runUntilStopped(['serve', '--port', '0', ...flags], { environment });
      const [, address = ''] = await service.waitFor(/(http:\S+)/);
      const { status } = await sendJson(address, 'POST', '/webPush/receipts', { receipts });
      await service.end();
      return status;
    };
    assert.equal(await report(), 404);
    assert.equal(await report('--receipts'), 204);

    const { stdout } = await run('broadcasts show 1');
    assert.match(stdout, /^ +3 accepted .*\n +3 in total\n\n +2 shown .*\n +1 clicked .*\n +0 dismissed/m);
    assert.match(stdout, /^ +2 shown +66\.7 % of the accepted, .*\n +1 clicked +33\.3 % of the accepted, /m);
    assert.match(
      stdout,
      /^ {2}99 % of the recipients were reached after \d+ s at the latest, exact to 1 s$/m,
    );
    assert.match(stdout, /^ +1 +on the action 1$/m);
    assert.match(stdout, new RegExp(`^ +${new URL(pushService.origin).host} +3 +3 +2 +1 +0$`, 'm'));
    const [json] = parseLines((await run('broadcasts show 1 --json')).stdout);
    const counts = { origin: pushService.origin, shown: 2, clicked: 1, dismissed: 0, actions: { 1: 1 } };
    assert.deepEqual(json.receipts, [counts]);

    // the second has not clicked, and of the third nothing is known
    const skipping = ['send', '--all', '--skip-inactive', '1', ...message];
    const skipped = '1 are left out: they clicked on none of the last broadcasts shown to them';
    assert.ok((await run([...skipping, '--dry-run'])).stdout.includes(skipped));
    const { stdout: summary } = await run(skipping);
    assert.match(
      summary,
      /^ +2 in total\n +1 left out +inactive: no click on the last broadcast shown to them$/m,
    );
    const file = join(data, 'given.jsonl');
    await writeFile(file, lines.join('\n'));
    const given = await run(['send', '--file', file, '--skip-inactive', '1', '--dry-run', ...message]);
    assert.match(given.stdout, /^Would be sent to 3 subscriptions/);
    assert.doesNotMatch(given.stdout, /left out/, 'nothing is known of them');
    const nobody = await run(['send', '--all', '--skip-inactive', '2', ...message]);
    assert.match(nobody.stdout, /^ +3 in total\n +0 left out +inactive: no click on the last 2 broadcasts/m);
    const [{ recipients, inactive, skipInactive }] = parseLines(
      (await run('broadcasts show 2 --json')).stdout,
    );
    assert.deepEqual({ recipients, inactive, skipInactive }, { recipients: 2, inactive: 1, skipInactive: 1 });
    const why = await run('subscriptions show 2 --broadcast 2');
    assert.match(
      why.stdout,
      /2 {2}inactive: It was left out, since its browser reported no click on the last broadcast shown there\./,
    );
  });
});
