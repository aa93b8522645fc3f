// What a few refusals, late answers, lost connections and a push service that hangs cost a broadcast; time is simulated.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { simulateBroadcast, type Behaviour, type SimulatedRun } from './simulation.ts';

const rows = 6000;
const lateMs = 5000;

interface Faults {
  /** Of the rows, at their first attempt. */
  readonly refused?: number;
  readonly late?: number;
  /** One connection in twenty ends so. */
  readonly ending?: 'goaway' | 'reset';
}

/** Evenly spread. */
const isChosen = (number: number, share: number): boolean =>
  Math.floor((number + 1) * share) > Math.floor(number * share);

const behaviourOf = (roundTripMs: number, { refused = 0, late = 0, ending }: Faults): Behaviour => ({
  roundTripMs,
  answer: (row, attempt) => {
    const isFirst = attempt === 1;
    return {
      afterMs: roundTripMs + (isFirst && isChosen(row, late) ? lateMs : 0),
      status: isFirst && isChosen(row, refused) ? 503 : 201,
    };
  },
  ends: (connection) =>
    ending !== undefined && isChosen(connection + 17, 1 / 20) ? { after: 150, by: ending } : undefined,
});

const hanging: Behaviour = { roundTripMs: 300, answer: () => ({ afterMs: 1 }) };

function checkEnd({ broadcast, latenessMs, lastWriteMs, endMs }: SimulatedRun, roundTripMs: number): void {
  assert.equal(broadcast.counts.accepted, broadcast.recipients);
  const most = 2 * roundTripMs + 200;
  assert.ok(Math.max(0, ...latenessMs) <= most, `${Math.max(...latenessMs)} ms after it was due`);
  assert.ok(endMs - lastWriteMs <= most, `ended ${endMs - lastWriteMs} ms after the last write`);
}

const cases: readonly (readonly [what: string, faults: Faults, atMost: number])[] = [
  ['1 % of 503', { refused: 0.01 }, 1.1],
  ['5 % of 503', { refused: 0.05 }, 1.3],
  ['1 % of answers five seconds late', { late: 0.01 }, 1.1],
  ['GOAWAY on one connection in twenty', { ending: 'goaway' }, 1.1],
  ['a reset of one connection in twenty', { ending: 'reset' }, 1.1],
];

for (const [roundTripMs, workers] of [
  [300, 1],
  [300, 2],
] as const) {
  describe(`a push service ${roundTripMs} ms away, ${workers} workers`, () => {
    const clean = simulateBroadcast([behaviourOf(roundTripMs, {})], { rows, workers });

    for (const [what, faults, atMost] of cases) {
      test(`takes all rows at most ${atMost} times as late with ${what}, and each that was refused when it is due`, async () => {
        const run = await simulateBroadcast([behaviourOf(roundTripMs, faults)], { rows, workers });
        const [ideal] = (await clean).firstAttemptsMs;
        const [firstAttemptsMs] = run.firstAttemptsMs;
        assert.ok(firstAttemptsMs! <= atMost * ideal!, `${firstAttemptsMs} ms, ${ideal} ms without faults`);
        checkEnd(run, run.latenessMs.length === 0 && faults.late !== undefined ? lateMs : roundTripMs);
        assert.equal(run.deferrals, 0, 'none is deferred');
      });
    }
  });
}

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

test('three push services need at most two round trips more beside one that hangs', async () => {
  for (const roundTripMs of [100, 300]) {
    const healthy = behaviourOf(roundTripMs, {});
    const alone = await simulateBroadcast([healthy, healthy, healthy], { rows: 4500 });
    const beside = await simulateBroadcast([healthy, healthy, healthy, hanging], {
      rows: 6000,
      isOver: ({ counts }) => counts.accepted === 4500,
    });
    const [most, ideal] = [beside.firstAttemptsMs.slice(0, 3), alone.firstAttemptsMs].map((all) =>
      Math.max(...all),
    );
    assert.ok(most! <= ideal! + 2 * roundTripMs, `${most} ms, ${ideal} ms alone`);
  }
});
