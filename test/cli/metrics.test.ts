// /metrics of `deskbell serve --operator` and of `deskbell worker --metrics`.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, test } from 'node:test';
import { startPushService } from '../../src/push-service/index.ts';
import { until } from '../../tools/until.ts';
import { startOperator } from '../operator/running-operator.ts';
import { newSubscription, sendJson } from '../service/running-service.ts';
import { environmentFor, runCommand, runUntilStopped, temporaryFolder } from './run-command.ts';

/** A data directory with one subscription, and a way to read metrics with a token for them. */
async function setUp() {
  const data = await temporaryFolder();
  const pushService = await startPushService({ checksBodies: false });
  after(() => pushService.close());
  const environment = { ...environmentFor(data, pushService), DESKBELL_MAX_SUBSCRIPTIONS: '50' };
  const keys = await runCommand(['keys', 'generate', '--json'], { environment });
  const { publicKey } = JSON.parse(keys.stdout) as { publicKey: string };
  const [sink] = pushService.createSinks(1, { vapidPublicKey: publicKey });
  await runCommand(['subscriptions', 'import', '-'], { environment, input: `${JSON.stringify(sink)}\n` });
  const { stdout } = await runCommand(['operators', 'add', 'prometheus', '--metrics', '--json'], {
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
  return { data, environment, read, oldRecords, measure };
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
    await runCommand(['keys', 'generate'], { environment });
    const worker = await runCommand(['worker', '--metrics', '127.0.0.1:0'], { environment });
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

  test('serve counts registrations by what came of them, and logs the worker that comes and goes', async () => {
    const { data, environment, read, oldRecords, measure } = await setUp();
    const logFile = join(data, 'log');
    const words = ['serve', '--port', '0', '--deliver', '--operator', '127.0.0.1:0', '--log-file', logFile];
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
    const log = await readFile(logFile, 'utf8');
    assert.match(log, /"event":"worker","machine":"[^"]+","processId":\d+,"state":"started","threads":1/);
    assert.match(log, /"event":"worker","machine":"[^"]+","processId":\d+,"state":"stopped"/);
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
    const worker = runUntilStopped(['worker', '--metrics', '127.0.0.1:0'], { environment });
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
