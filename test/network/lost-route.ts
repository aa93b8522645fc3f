// To be run in a network namespace of its own, by `lost-route.all.test.ts`: names resolve, and the route to where they lead comes
// and goes. A broadcast begins without it, loses it once more on its way, and goes on each time that it is back.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ip, find } from '../../scripts/install-test-tools.ts';
import { stateOf } from '../../src/delivery/broadcast/format-broadcast.ts';
import { readAlarms } from '../../src/delivery/alarms/read-alarms.ts';
import { until } from '../../tools/until.ts';
import { message, openBroadcastBench, timesReceived } from '../delivery/broadcast-bench.ts';

const address = '192.0.2.1';
const rows = 6000;
const configure = (...parameters: readonly string[]): unknown => execFileSync(find(ip)!, parameters);
const setRoute = (change: 'add' | 'del'): unknown => configure('addr', change, `${address}/32`, 'dev', 'lo');

configure('link', 'set', 'lo', 'up');
setRoute('add');
await using bench = await openBroadcastBench();
const { store } = bench;
const pushService = await bench.startPushService({ host: address, tls: true, rows });
setRoute('del');

const single = bench.createSender();
const [first] = await store.subscriptions.page({ afterId: 0, limit: 1 });
const { outcome, response } = await single.send(first!, message);
assert.ok(outcome.kind === 'retry' && outcome.isUnsent, JSON.stringify(outcome));
assert.match(outcome.detail ?? '', /ENETUNREACH/);
assert.equal(response, undefined);

const sender = bench.createSender({
  connectTimeoutMs: 2000,
  responseTimeoutMs: 2000,
  worker: { leaseMs: 10_000 },
  retryPolicy: { firstDelayMs: 50, maxDelayMs: 400 },
});
const run = await sender.broadcast('all', message);
const find_ = () => store.broadcasts.get(run.broadcast.id);
const alarmKinds = async () =>
  (await readAlarms(store, async () => [])).standing.map(({ kind, detail }) => `${kind}: ${detail}`);

await until(
  async () => (await alarmKinds()).some((alarm) => /unreachable: .*ENETUNREACH/.test(alarm)),
  'the alarm',
);
await until(
  async () => (await find_()).alarms.some(({ reason }) => reason === 'connection'),
  'its own alarm',
);
const waiting = await find_();
assert.equal(stateOf(waiting), 'running');
assert.deepEqual([waiting.counts.pending, waiting.origins[0]?.attempts], [rows, 0], 'nothing is counted');
const looks = async () => [...(await store.attempts.countAnswers([run.broadcast.id])).values()].flat().length;
assert.ok((await looks()) < 10, 'a worker that is cut off does next to nothing');

setRoute('add');
await until(async () => (await find_()).counts.accepted > 0, 'the first after the route is back');
setRoute('del');
await sleep(3000);
const { counts } = await find_();
assert.equal(counts.rejected + counts.exhausted + counts.expired, 0);
setRoute('add');
const done = await run.finished;
assert.equal(done.counts.accepted + done.counts.doubtful, rows, JSON.stringify(done.counts));
assert.equal(timesReceived(pushService)[0], undefined, 'somebody was lost');
assert.deepEqual(
  (await readAlarms(store, async () => [])).standing.filter(({ kind }) => kind === 'connection'),
  [],
);
console.log(`${rows} rows over a route that was lost twice: ${JSON.stringify(done.counts)}`);
