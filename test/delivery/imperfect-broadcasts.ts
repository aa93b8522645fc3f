// What a few refusals, late answers and lost connections cost a broadcast; time is simulated.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { simulateBroadcast, type Behaviour, type SimulatedRun } from './simulation.ts';

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

export const behaviourOf = (
  roundTripMs: number,
  { refused = 0, late = 0, ending }: Faults = {},
): Behaviour => ({
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

function checkEnd({ broadcast, latenessMs, lastWriteMs, endMs }: SimulatedRun, roundTripMs: number): void {
  assert.equal(broadcast.counts.accepted, broadcast.recipients);
  const most = 2 * roundTripMs + 200;
  assert.ok(Math.max(0, ...latenessMs) <= most, `${Math.max(...latenessMs)} ms after it was due`);
  assert.ok(endMs - lastWriteMs <= most, `ended ${endMs - lastWriteMs} ms after the last write`);
}

const cases: readonly (readonly [what: string, faults: Faults, atMost: number])[] = [
  ['0.1 % of 503', { refused: 0.001 }, 1.1],
  ['1 % of 503', { refused: 0.01 }, 1.1],
  ['5 % of 503', { refused: 0.05 }, 1.3],
  ['1 % of answers five seconds late', { late: 0.01 }, 1.1],
  ['GOAWAY on one connection in twenty', { ending: 'goaway' }, 1.1],
  ['a reset of one connection in twenty', { ending: 'reset' }, 1.1],
];

interface Chosen {
  /** Cases, by what they are; by default all. */
  readonly cases?: RegExp;
  /** Enough for more than ten round trips, or one trip more is above the limit already. */
  readonly rows?: number;
}

export function testFaults(
  roundTripMs: number,
  workers: number,
  { cases: chosen = /^/, rows = 6000 }: Chosen = {},
): void {
  describe(`a push service ${roundTripMs} ms away, ${workers} workers`, () => {
    const clean = simulateBroadcast([behaviourOf(roundTripMs)], { rows, workers });

    for (const [what, faults, atMost] of cases.filter(([name]) => chosen.test(name))) {
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
