// `deskbell healthcheck`: asks the process by the configuration that it was started with.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { databasePathOf, openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { withRetention } from '../../src/cli/data/retention-loop.ts';
import { startPushService } from '../../src/push-service/index.ts';
import type { RetentionLimits } from '../../src/store/retention.ts';
import { freePort, listenOnNewPort } from '../../tools/listening.ts';
import { until, within } from '../../tools/until.ts';
import { startOperator } from '../operator/running-operator.ts';
import { newSubscription, sendJson } from '../service/running-service.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import {
  dataWithSinks,
  outputOf,
  runCommand,
  runUntilStopped,
  spawnUntilStopped,
  temporaryFolder,
} from './run-command.ts';

const skip = process.platform === 'linux' ? false : 'It reads /proc.';

test('asks a service at its port and prefix, and a worker’s reports', { skip }, async () => {
  const data = await temporaryFolder();
  const port = String(await freePort());
  const environment = { DESKBELL_PREFIX: '/push', DESKBELL_DATA: data };
  const check = async (pid: number | undefined) => {
    const {
      exitCode: code,
      stdout,
      stderr,
    } = await runCommand(['healthcheck', '--pid', String(pid)], { environment });
    return { code, text: stdout + stderr };
  };
  const service = spawnUntilStopped(['serve', '--push-only', '--port', port], { environment });
  await service.waitFor(/listens on/);
  assert.deepEqual(await check(service.child.pid), { code: 0, text: 'The service works.\n' });

  const worker = spawnUntilStopped(['worker', `--data=${data}`, '--subject', 'mailto:push@example.org'], {
    environment,
  });
  await worker.waitFor(/delivers broadcasts/);
  await until(async () => (await check(worker.child.pid)).code === 0, 'the worker to have reported');

  const ends = await Promise.all([service.end(), worker.end()]);
  assert.deepEqual(ends, [0, 0]);
  // one that has not come to listen
  const words = ['-e', 'setTimeout(() => {}, 60_000)', 'serve', '--port', port];
  const starting = spawn(process.execPath, words, { stdio: 'ignore' });
  assert.match((await check(starting.pid)).text, /readyz does not answer.*ERR_NOT_READY/);
  starting.kill();
  assert.match((await check(process.pid)).text, /is neither "deskbell serve" nor "deskbell worker"/);
});

// `deskbell serve --webhook`: what another command does is posted, and the printed secret is the one that it is signed with.

test('deskbell serve --operator --webhook posts what another command brings about, signed', async (t) => {
  const receiver = createServer();
  const port = await listenOnNewPort(receiver);
  t.after(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const url = `http://127.0.0.1:${port}/hook`;
  const environment = { DESKBELL_DATA: await temporaryFolder(), DESKBELL_SUBJECT: 'mailto:you@example.org' };
  const serve = runUntilStopped(['serve', '--port', '0', '--operator', '127.0.0.1:0', '--webhook', url], {
    environment,
  });
  await serve.waitFor(/^The operator’s listener is at /);

  const posted = once(receiver, 'request') as Promise<[IncomingMessage, { end(): void }]>;
  const words = ['send', '--all', '--detach', '--title', 'Ding dong', '--message', 'Tea is ready'];
  await outputOf(runCommand(words, { environment }));
  const [request, response] = await posted;
  const body = await text(request);
  response.end();
  const { type, data } = JSON.parse(body) as {
    readonly type: string;
    readonly data: { readonly id: number };
  };
  assert.deepEqual([type, data.id], ['broadcast.done', 1]);

  const { stdout } = await runCommand('webhook-secret', { environment });
  assert.match(stdout, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request.headers;
  const key = Buffer.from(stdout.trim().replace('whsec_', ''), 'base64');
  const expected = createHmac('sha256', key)
    .update(`${String(id)}.${String(time)}.${body}`)
    .digest('base64');
  assert.equal(signature, `v1,${expected}`);
  assert.equal(await serve.end('SIGTERM'), 0);

  const alone = await runCommand(['serve', '--port', '0', '--webhook', url], { environment });
  assert.deepEqual([alone.exitCode, alone.stderr.includes('give --operator too')], [2, true]);
  const insecure = ['serve', '--port', '0', '--operator', '127.0.0.1:0', '--webhook', 'http://example.org/'];
  assert.equal((await runCommand(insecure, { environment })).exitCode, 2);
});

// /metrics of `deskbell serve --operator` and of `deskbell worker --metrics`.

/** A data directory with one subscription, and a way to read metrics with a token for them. */
async function setUp() {
  const pushService = await startPushService({ checksBodies: false });
  after(() => pushService.close());
  const { data, environment: own } = await dataWithSinks(pushService, 1);
  const environment = { ...own, DESKBELL_MAX_SUBSCRIPTIONS: '50' };
  const { stdout } = await runCommand('operators add prometheus --metrics --json', {
    environment,
  });
  const { token } = JSON.parse(stdout) as { token: string };
  const database = new DatabaseSync(join(data, 'deskbell.db'), { timeout: 60_000 });
  after(() => database.close());
  database.exec("insert into audit (at_ms, operator, action) values (1, 'ann', 'broadcast.pause')");
  const oldRecords = () => database.prepare('select count(*) as count from audit where at_ms = 1').get();
  const read = async (address: string) => {
    const response = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(response.status, 200);
    return response.text();
  };
  /** Delivers a message, and waits for what the process has measured of it. */
  const measure = async (address: string) => {
    const words = ['send', '--all', '--detach', '--title', 'Ding dong', '--message', 'Tea is ready'];
    await runCommand(words, { environment });
    const measured = /^deskbell_push_request_duration_seconds_count\{origin="127\.0\.0\.1:\d+"\} 1$/m;
    await until(async () => measured.test(await read(address)), 'the duration of the request');
    assert.match(await read(address), /^deskbell_commit_duration_seconds_count [1-9]\d*$/m);
  };
  return { environment, read, oldRecords, measure };
}

suite('metrics', () => {
  test('without their package a worker does not start, and /metrics says what to install', async (t) => {
    const hooks = registerHooks({
      resolve(specifier, context, next) {
        if (specifier === '@prometheus-io/client') throw new Error('It is not installed.');
        return next(specifier, context);
      },
    });
    t.after(() => hooks.deregister());
    const environment = { DESKBELL_DATA: await temporaryFolder(), DESKBELL_SUBJECT: 'mailto:p@example.org' };
    await runCommand('keys generate', { environment });
    const worker = await runCommand('worker --metrics 127.0.0.1:0', { environment });
    const { ask } = await startOperator(t);
    const response = await ask('/metrics');
    assert.deepEqual([worker.exitCode, response.status], [1, 501]);
    const { devDependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    const remedy = `npm install @prometheus-io/client@${devDependencies['@prometheus-io/client']}`;
    for (const words of [worker.stderr, await response.text(), await readFile('docs/metrics.md', 'utf8')])
      assert.ok(words.includes(remedy), words);
  });

  test('serve counts registrations by what came of them', async () => {
    const { environment, read, oldRecords, measure } = await setUp();
    const words = ['serve', '--port', '0', '--deliver', '--operator', '127.0.0.1:0'];
    const serve = runUntilStopped([...words, '--registrations-per-minute', '3', '--json'], { environment });
    const [line] = await serve.waitFor(/^\{.*"operator".*$/);
    const { address, operator } = JSON.parse(line) as { address: string; operator: string };
    await measure(operator);
    for (const body of [newSubscription(), {}, newSubscription(), newSubscription()]) {
      await sendJson(address, 'POST', '/webPush', body);
    }
    const metrics = await read(operator);
    assert.match(metrics, /^deskbell_subscriptions 3$/m);
    assert.match(metrics, /^deskbell_subscription_limit\{machine="[^"]+"\} 50$/m);
    for (const [result, count] of Object.entries({ stored: 2, refused: 1, limited: 1, failed: 0 })) {
      assert.match(
        metrics,
        new RegExp(`^deskbell_registrations_total\\{result="${result}"\\} ${count}$`, 'm'),
      );
    }
    assert.equal((await fetch(`${address}/metrics`)).status, 404, 'not on the public listener');
    assert.equal(await serve.end(), 0);
    assert.deepEqual({ ...oldRecords() }, { count: 0 }, 'what is older than it is to be kept is deleted');
  });

  test('a worker has metrics of its own, and says where', async () => {
    const { environment, read, oldRecords, measure } = await setUp();
    for (const [words, fault] of [
      [['0.0.0.0:0'], /give --operator-cert and --operator-key, or --operator-behind-proxy/],
      [['127.0.0.1:0', '--operator-cert', 'cert.pem'], /Give both --operator-cert and --operator-key/],
    ] as const) {
      const refused = await runCommand(['worker', '--metrics', ...words], { environment });
      assert.equal(refused.exitCode, 2);
      assert.match(refused.stderr, fault);
    }
    const worker = runUntilStopped('worker --metrics 127.0.0.1:0', { environment });
    const [, address = ''] = await worker.waitFor(/ Metrics are at (http:\S+)\/metrics\.$/);
    await measure(address);
    const metrics = await read(address);
    assert.match(metrics, /^deskbell_broadcast_pending_rows 0$/m);
    assert.doesNotMatch(metrics, /^deskbell_subscription_limit\{/m, 'a worker registers nobody');
    assert.equal(await worker.end(), 0);
    assert.deepEqual({ ...oldRecords() }, { count: 0 });
    assert.match(worker.written(), /^Deskbell has stopped\.$/m);
  });
});

// What a process deletes by the configuration, and that the database file becomes smaller while it is in use.

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const forever = {
  keepBroadcastsDays: 'forever',
  keepAttemptsDays: 'forever',
  keepAuditDays: 'forever',
} as const;
const onError = (error: unknown): never => {
  throw error;
};

test('each setting is for its own data, and whom a cap per person has reached is known for seven days', async () => {
  const nowMs = 500 * dayMs;
  const before = (days: number): number => nowMs - days * dayMs;
  for (const [configuration, limits] of [
    [forever, { broadcastsBeforeMs: undefined, attemptsBeforeMs: undefined, auditBeforeMs: undefined }],
    [
      { keepBroadcastsDays: 300, keepAttemptsDays: 20, keepAuditDays: 1 },
      { broadcastsBeforeMs: before(300), attemptsBeforeMs: before(20), auditBeforeMs: before(1) },
    ],
  ] as const) {
    const asked = Promise.withResolvers<RetentionLimits>();
    const retention = {
      prune: async (given: RetentionLimits) => {
        asked.resolve(given);
        return false;
      },
      shrink: async () => false,
    };
    const work = async () => void (await asked.promise);
    await withRetention({ retention, now: () => nowMs }, configuration, onError, work);
    assert.deepEqual(await asked.promise, { ...limits, contactsBeforeMs: before(7) });
  }
});

test('what is older is looked for at the start and every hour, though it fails once, which is told', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.timers.reset();
    syncBuiltinESMExports();
  });
  let looks = 0;
  const faults: unknown[] = [];
  const retention = {
    prune: async () => {
      looks += 1;
      if (looks === 1) throw new Error('the disk is full');
      return false;
    },
    shrink: async () => false,
  };
  const looksAfter = async (ms: number): Promise<number> => {
    t.mock.timers.tick(ms);
    await setImmediate();
    return looks;
  };
  const onFault = (error: unknown) => void faults.push(error);
  await withRetention({ retention, now: Date.now }, forever, onFault, async () => {
    for (let hours = 1; hours <= 3; hours += 1) {
      assert.equal(await looksAfter(0), hours);
      assert.equal(await looksAfter(hourMs - 1), hours);
      t.mock.timers.tick(1);
    }
  });
  assert.match(String(faults), /the disk is full$/);
});

test('the file of the database shrinks while it is in use', async () => {
  const folder = await temporaryFolder();
  const { store, vapidKeys, close } = await openDataDirectory(folder);
  const path = databasePathOf(folder);
  const subscriptions = Array.from({ length: 20_000 }, (_, index) => ({
    subscription: madeUpSubscription(index),
    vapidPublicKey: vapidKeys.publicKey,
  }));
  await store.subscriptions.putAll(subscriptions);
  const other = new DatabaseSync(path);
  other.exec('delete from subscriptions; delete from losses');
  // more than a step deletes
  other.exec(`
    with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 5000)
    insert into audit (at_ms, operator, action) select number, 'ann', 'broadcast.pause' from numbers`);
  let steps = 0;
  const ended = Promise.withResolvers<void>();
  const retention = {
    ...store.retention,
    shrink: async () => {
      steps += 1;
      const hasMore = await store.retention.shrink();
      if (!hasMore) ended.resolve();
      return hasMore;
    },
  };
  const configuration = { ...forever, keepAuditDays: 1 };
  await withRetention({ ...store, retention }, configuration, onError, () =>
    within(ended.promise, 'the last step'),
  );
  const left = other.prepare('select count(*) as records from audit').get();
  other.close();
  assert.deepEqual({ ...left }, { records: 0 }, 'all that is older is deleted, in several steps');
  assert.ok(steps > 1, 'step by step');
  await close();
  const bytes = statSync(path).size;
  assert.ok(bytes < 6e6, `${bytes} bytes are left of more than ten million`);
});
