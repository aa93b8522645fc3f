// What faults of push services cost a broadcast; time is simulated. More round trips: imperfect-push-services.all.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behaviourOf, testFaults } from './imperfect-broadcasts.ts';
import { simulateBroadcast, simulationStartMs, type Behaviour } from './simulation.ts';

testFaults(300, 1);
testFaults(300, 2, { cases: /^5 %/ });

test('rows that wait for the pace of a push service that takes few are sent in their order, and none is deferred', async () => {
  let windowMs = 0;
  let taken = 0;
  const capped: Behaviour = {
    roundTripMs: 100,
    answer: (_row, _attempt, nowMs) => {
      if (nowMs - windowMs >= 10) [windowMs, taken] = [nowMs, 0];
      taken += 1;
      return { afterMs: 100, status: taken > 5 ? 503 : 201 };
    },
  };
  const run = await simulateBroadcast([capped], { rows: 2000 });
  assert.equal(run.broadcast.counts.accepted, 2000);
  assert.equal(run.deferrals, 0);
  const [order] = run.order;
  const displaced = order!.map((row, place) => Math.abs(row - place));
  assert.ok(Math.max(...displaced) <= 300, `${Math.max(...displaced)} places`);
});

test('Chrome, which answers 429 for days after a thousand in a minute, gets a tenth of that at most after the first minute', async () => {
  const [limit, minuteMs] = [1000, 60_000];
  const minutes = [0, 0];
  const chrome: Behaviour = {
    roundTripMs: 100,
    answer: (_row, _attempt, nowMs) => {
      const accepted = minutes[0]!;
      minutes[Math.floor((nowMs - simulationStartMs) / minuteMs)]! += 1;
      return { afterMs: 100, status: accepted < limit ? 201 : 429 };
    },
  };
  const run = await simulateBroadcast([chrome], { rows: 1500, untilMs: 1.5 * minuteMs });
  assert.equal(run.broadcast.counts.accepted, limit);
  // it is asked from time to time
  assert.ok(minutes[1]! <= limit / 10, minutes.join());
});

/** Three and another one, as far away as they are. */
async function besides(roundTripMs: number, other: Partial<Behaviour>, rows: number) {
  const healthy = behaviourOf(roundTripMs);
  const alone = await simulateBroadcast([healthy, healthy, healthy], { rows: (rows * 3) / 4 });
  const beside = await simulateBroadcast([healthy, healthy, healthy, { ...healthy, ...other }], {
    rows,
    // one that never answers is not waited for
    ...(other.answer && { isOver: ({ counts }) => counts.accepted === (rows * 3) / 4 }),
  });
  const [most, ideal] = [beside.firstAttemptsMs.slice(0, 3), alone.firstAttemptsMs].map((all) =>
    Math.max(...all),
  );
  assert.ok(most! <= ideal! + 2 * roundTripMs, `${most} ms, ${ideal} ms alone`);
  return { beside, ideal: ideal! };
}

for (const roundTripMs of [100, 300]) {
  test(`three push services ${roundTripMs} ms away need at most two round trips more beside one that hangs`, async () => {
    await besides(roundTripMs, { answer: () => ({ afterMs: 1 }) }, 6000);
  });
}

test('three push services need at most two round trips more beside one that cannot be reached, whose rows go out once it can', async () => {
  const [roundTripMs, rows, downMs] = [100, 4000, 12_000];
  const connectsMs: number[] = [];
  const connects: Behaviour['connects'] = (nowMs) => {
    connectsMs.push(nowMs - simulationStartMs);
    return nowMs - simulationStartMs < downMs ? 'refused' : undefined;
  };
  const { beside, ideal } = await besides(roundTripMs, { connects }, rows);
  assert.deepEqual([beside.broadcast.counts.accepted, beside.requests], [rows, rows]);
  // one at a time, after 1, 2, 4 and 5 seconds
  const inVain = connectsMs.filter((ms) => ms < downMs);
  assert.ok(inVain.length <= 5, `${inVain.length} attempts to connect`);
  const reachedMs = connectsMs[inVain.length]!;
  assert.ok(reachedMs <= downMs + 7000, `looked at it ${reachedMs - downMs} ms later`);
  const tookMs = beside.firstAttemptsMs[3]! - reachedMs;
  assert.ok(tookMs <= ideal + 2 * roundTripMs + 200, `${tookMs} ms, ${ideal} ms alone`);
  // but for those that were tried meanwhile
  const displaced = beside.order[3]!.filter((row, place) => Math.abs((row - 3) / 4 - place) > 200).length;
  assert.ok(displaced <= rows / 4 / 5, `${displaced} are not in their order`);
});
