// /metrics of `deskbell serve --operator` and of `deskbell worker --metrics`, as processes of their own.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, test } from 'node:test';
import { newSubscription, sendJson } from '../service/running-service.ts';
import { runCommand, runUntilStopped, temporaryFolder } from './run-command.ts';

/** A data directory, and a way to read metrics with a token for them. */
async function setUp() {
  const data = await temporaryFolder();
  const environment = {
    DESKBELL_DATA: data,
    DESKBELL_SUBJECT: 'mailto:push@example.org',
    DESKBELL_THREADS: '1',
  };
  await runCommand(['keys', 'generate'], { environment });
  const { stdout } = await runCommand(['operators', 'add', 'prometheus', '--metrics', '--json'], {
    environment,
  });
  const { token } = JSON.parse(stdout) as { token: string };
  const database = new DatabaseSync(join(data, 'deskbell.db'));
  after(() => database.close());
  database.exec("insert into audit (at_ms, operator, action) values (1, 'ann', 'broadcast.pause')");
  const oldRecords = () => database.prepare('select count(*) as count from audit where at_ms = 1').get();
  const read = async (address: string) => {
    const response = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(response.status, 200);
    return response.text();
  };
  return { data, environment, read, oldRecords };
}

suite('metrics', () => {
  test('serve counts registrations by what came of them, and logs the worker that comes and goes', async () => {
    const { data, environment, read, oldRecords } = await setUp();
    const logFile = join(data, 'log');
    const words = ['serve', '--port', '0', '--deliver', '--operator', '127.0.0.1:0', '--log-file', logFile];
    const serve = runUntilStopped([...words, '--registrations-per-minute', '3', '--json'], { environment });
    const [line] = await serve.waitFor(/^\{.*"operator".*$/);
    const { address, operator } = JSON.parse(line) as { address: string; operator: string };
    for (const body of [newSubscription(), {}, newSubscription(), newSubscription()]) {
      await sendJson(address, 'POST', '/webPush', body);
    }
    const metrics = await read(operator);
    assert.match(metrics, /^deskbell_subscriptions 2$/m);
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
    const { environment, read, oldRecords } = await setUp();
    const worker = runUntilStopped(['worker', '--metrics', '127.0.0.1:0'], { environment });
    const [, address = ''] = await worker.waitFor(/ Metrics are at (http:\S+)\/metrics\.$/);
    assert.match(await read(address), /^deskbell_broadcast_pending_rows 0$/m);
    assert.equal(await worker.end(), 0);
    assert.deepEqual({ ...oldRecords() }, { count: 0 });
    assert.match(worker.written(), /^Deskbell has stopped\.$/m);
  });
});
