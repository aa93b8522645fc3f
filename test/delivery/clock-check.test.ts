// The store's time compared with that of push services' answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClockCheck } from '../../src/delivery/reports/clock-check.ts';
import { message, openBroadcastBench, startWork, vapidKeys, untilDone } from './broadcast-bench.ts';
import { openAgain } from '../store/test-database.ts';
import { until } from '../../tools/until.ts';

const minuteMs = 60_000;
const startMs = Date.parse('2027-03-25T12:00:00Z');

function openCheck() {
  const warnings: string[] = [];
  const check = new ClockCheck((warning) => warnings.push(warning));
  return {
    check,
    warnings,
    /** @param theirs minutes that they are ahead; `undefined`: they do not tell the time */
    answer: (origin: string, theirs: number | undefined, nowMs = startMs) => {
      const headers = theirs === undefined ? {} : { date: new Date(nowMs + theirs * minuteMs).toUTCString() };
      check.look(origin, { status: 201, headers: headers as Record<string, string>, body: '' }, nowMs);
    },
  };
}

test('a difference of more than three minutes is told once, until it is mended', () => {
  const { warnings, answer } = openCheck();
  answer('https://a.example', 2.9);
  assert.deepEqual(warnings, []);
  answer('https://a.example', 40, startMs + 2 * minuteMs);
  answer('https://a.example', 41, startMs + 4 * minuteMs);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /^The clock is 40 minutes behind push services: /);
  answer('https://a.example', 0, startMs + 6 * minuteMs);
  answer('https://a.example', -10, startMs + 8 * minuteMs);
  assert.match(warnings[1]!, /^The clock is 10 minutes ahead of push services: /);
  answer('https://a.example', 0, startMs + 10 * minuteMs);
  answer('https://a.example', 3.1, startMs + 12 * minuteMs);
  assert.match(warnings[2]!, /^The clock is 3 minutes behind push services: /);
});

test('one push service with a wrong clock among others is none of ours', () => {
  const { check, warnings, answer } = openCheck();
  answer('https://a.example', 0);
  answer('https://b.example', 500);
  answer('https://c.example', 0);
  answer('https://d.example', undefined);
  assert.equal(check.differenceMs, 0);
  assert.deepEqual(warnings, []);
});

test('what was seen five minutes ago says nothing of the clock any more', () => {
  const { check, warnings, answer } = openCheck();
  for (const origin of ['https://a.example', 'https://b.example']) answer(origin, 40);
  answer('https://c.example', 0, startMs + 5 * minuteMs - 1);
  assert.equal(check.differenceMs, 40 * minuteMs);
  answer('https://c.example', 0, startMs + 6 * minuteMs);
  assert.equal(check.differenceMs, 0);
  assert.equal(warnings.length, 1);
});

test('each push service is looked at once a minute, also when our own time is set back', () => {
  const { check, answer } = openCheck();
  answer('https://a.example', 0);
  answer('https://a.example', 60, startMs + minuteMs - 1);
  assert.equal(check.differenceMs, 0);
  answer('https://a.example', 60, startMs - 60 * minuteMs);
  assert.equal(check.differenceMs, 60 * minuteMs);
});

test('a sender whose store has a wrong time warns, and reports it to the others', async (t) => {
  await using bench = await openBroadcastBench({ rows: 1 });
  const warnings: string[] = [];
  const store = await openAgain(bench.store);
  const late = { ...store, now: () => Date.now() - 20 * minuteMs };
  const sender = bench.createSender({ store: late, onWarning: (warning) => warnings.push(warning) });
  const run = await sender.broadcast('all', message);
  assert.equal((await run.finished).counts.accepted, 1);
  assert.match(warnings.join('\n'), /^The clock is 20 minutes behind push services: /);

  // so does one of single messages
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [sink] = bench.pushService.createSinks(1, { vapidPublicKey: vapidKeys.publicKey });
  assert.equal((await sender.send(sink!, message)).outcome.kind, 'accepted');
  assert.equal(warnings.length, 2);
  assert.equal(warnings[1], warnings[0]);
  const endWork = startWork(sender);
  const { broadcast } = await sender.createBroadcast('all', message);
  await untilDone(bench.store, broadcast.id);
  t.mock.timers.tick(2000);
  for (const kind of ['single', 'worker']) {
    const reported = async () =>
      (await bench.store.senders.list()).find((report) => report.kind === kind)?.clockDifferenceMs;
    const differenceMs = await until(reported, `the report of the ${kind} sender`);
    assert.equal(Math.round(differenceMs / minuteMs), 20);
  }
  await endWork();
  await sender.close();
  await store.close();
});
