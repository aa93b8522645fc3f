// The pace against simulated push services; time passes as the simulation says.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { latencyFloor, maxLimit, Pacing } from '../../src/transport/pacing.ts';

/** Messages a second. */
const capacity = 1000;
const lateMs = 5000;

interface ModelPushService {
  readonly roundTripMs: number;
  /** Requests a millisecond that it takes. */
  perMs(nowMs: number): number;
  /** Of what is above that. By default they are refused. */
  readonly queues?: boolean;
  /** Of all requests, refused at any rate; the positions of the refused ones come from a generator with a fixed seed. */
  readonly refusedShare?: number;
  /** Of the accepted ones, five seconds late. */
  readonly lateShare?: number;
}

interface Sent {
  readonly by: Pacing;
  readonly sentMs: number;
  readonly isAccepted: boolean;
}

/** Threads that have more to send than they may, each with a pace of its own, against one push service. */
class Simulation {
  readonly paces: readonly Pacing[];
  readonly #model: ModelPushService;
  readonly #due = new Map<number, Sent[]>();
  readonly #inFlight = new Map<Pacing, number>();
  #nowMs = 0;
  #permits = 0;
  readonly #waiting: Sent[] = [];
  #random = 1;
  accepted = 0;
  refused = 0;

  constructor(threads: number, model: ModelPushService) {
    this.paces = Array.from({ length: threads }, () => new Pacing());
    this.#model = model;
  }

  /** @returns what was answered meanwhile */
  run(forMs: number): { readonly perSecond: number; readonly refusedShare: number } {
    const before = { accepted: this.accepted, refused: this.refused };
    for (const endMs = this.#nowMs + forMs; this.#nowMs < endMs; this.#nowMs += 1) this.#pass();
    const accepted = this.accepted - before.accepted;
    const refused = this.refused - before.refused;
    return { perSecond: (accepted * 1000) / forMs, refusedShare: refused / (accepted + refused) };
  }

  #pass(): void {
    const perMs = this.#model.perMs(this.#nowMs);
    for (const sent of this.#due.get(this.#nowMs) ?? []) this.#answer(sent);
    this.#due.delete(this.#nowMs);
    // nothing is saved up for longer than five milliseconds
    this.#permits = Math.min(Math.max(2, 5 * perMs), this.#permits + perMs);
    for (; this.#waiting.length > 0 && this.#permits >= 1; this.#permits -= 1)
      this.#answerLater(this.#waiting.shift()!, this.#model.roundTripMs);
    const ready = new Set(this.paces);
    while (ready.size > 0) {
      for (const pace of ready) {
        const inFlight = this.#inFlight.get(pace) ?? 0;
        if (pace.free(inFlight, this.#nowMs) > 0) {
          pace.spend(1);
          this.#inFlight.set(pace, inFlight + 1);
          this.#take(pace);
        } else {
          pace.recordLimitReached();
          ready.delete(pace);
        }
      }
    }
  }

  #take(by: Pacing): void {
    const { roundTripMs, queues = false, refusedShare = 0, lateShare = 0 } = this.#model;
    const sent = { by, sentMs: this.#nowMs, isAccepted: !this.#happens(refusedShare) };
    if (queues) this.#waiting.push(sent);
    else if (this.#permits < 1) this.#answerLater({ ...sent, isAccepted: false }, roundTripMs);
    else {
      this.#permits -= 1;
      this.#answerLater(
        sent,
        sent.isAccepted && this.#happens(lateShare) ? roundTripMs + lateMs : roundTripMs,
      );
    }
  }

  #answerLater(sent: Sent, inMs: number): void {
    const dueMs = this.#nowMs + inMs;
    const due = this.#due.get(dueMs) ?? [];
    this.#due.set(dueMs, due);
    due.push(sent);
  }

  #answer({ by, sentMs, isAccepted }: Sent): void {
    this.#inFlight.set(by, (this.#inFlight.get(by) ?? 0) - 1);
    const latencyMs = this.#nowMs - sentMs;
    if (isAccepted) by.recordAccepted(latencyMs, this.#nowMs);
    else by.recordRefused(latencyMs, this.#nowMs);
    this.accepted += isAccepted ? 1 : 0;
    this.refused += isAccepted ? 0 : 1;
  }

  /** Numerical Recipes' linear congruential generator. */
  #happens(share: number): boolean {
    this.#random = (this.#random * 1664525 + 1013904223) % 2 ** 32;
    return this.#random < share * 2 ** 32;
  }
}

describe('a push service with a capacity of 1,000 a second', () => {
  const factors = { 'stays as it is': 1, doubles: 2, halves: 0.5 };
  for (const queues of [false, true]) {
    for (const threads of [1, 8]) {
      for (const roundTripMs of [50, 100, 300]) {
        for (const [change, factor] of Object.entries(factors)) {
          const name = `${queues ? 'with a queue' : 'that refuses the rest'}, ${threads} threads, ${roundTripMs} ms`;
          test(`${name}: is used by four fifths and more, and refuses a tenth at most, if it ${change}`, () => {
            const changesAtMs = 50 * roundTripMs;
            const simulation = new Simulation(threads, {
              roundTripMs,
              queues,
              perMs: (nowMs) => (capacity / 1000) * (nowMs < changesAtMs ? 1 : factor),
            });
            for (const expected of [capacity, capacity * factor]) {
              simulation.run(10 * roundTripMs);
              const { perSecond, refusedShare } = simulation.run(40 * roundTripMs);
              assert.ok(perSecond >= 0.8 * expected, `${perSecond} a second of ${expected}`);
              assert.ok(refusedShare <= 0.1, `${(100 * refusedShare).toFixed(1)} % were refused`);
            }
          });
        }
      }
    }
  }

  test('a queue stays within a few round trips', () => {
    const simulation = new Simulation(1, { roundTripMs: 300, queues: true, perMs: () => capacity / 1000 });
    simulation.run(20_000);
    const [pace] = simulation.paces;
    assert.ok(pace!.limit < (4 * 300 * capacity) / 1000, `${pace!.limit} in flight`);
  });
});

const run = (model: Partial<ModelPushService>, forMs: number, roundTripMs = 300) => {
  const simulation = new Simulation(1, { perMs: () => 1000, roundTripMs, ...model });
  const { perSecond } = simulation.run(forMs);
  return { perSecond, pace: simulation.paces[0]! };
};

describe('a push service that takes anything', () => {
  test('gets twice as much in each round trip, up to the bound', () => {
    const { pace } = run({}, 5 * 300 - 1);
    assert.equal(pace.limit, 16 * latencyFloor);
    assert.equal(run({}, 10_000).pace.limit, maxLimit);
  });

  for (const roundTripMs of [20, 100, 300, 500]) {
    const clean = run({}, 20 * roundTripMs, roundTripMs).perSecond;
    for (const [what, model, least] of [
      ['0.1 % of refusals', { refusedShare: 0.001 }, 0.97],
      ['1 % of refusals', { refusedShare: 0.01 }, 0.97],
      ['5 % of refusals', { refusedShare: 0.05 }, 0.8],
      ['1 % of answers five seconds late', { lateShare: 0.01 }, 0.9],
    ] as const) {
      test(`is sent nearly as much with ${what} after ${roundTripMs} ms`, () => {
        const { perSecond } = run(model, 20 * roundTripMs, roundTripMs);
        assert.ok(perSecond >= least * clean, `${perSecond} a second of ${clean}`);
      });
    }
  }

  test('is sent as much if it is suddenly ten times as far', () => {
    const far = new Pacing();
    let nowMs = 0;
    for (const roundTripMs of [50, 500]) {
      for (let round = 0; round < 12; round += 1) {
        const sentMs = nowMs;
        const written = far.free(0, nowMs);
        far.recordLimitReached();
        nowMs += roundTripMs;
        for (let answer = 0; answer < written; answer += 1) far.recordAccepted(nowMs - sentMs, nowMs);
      }
    }
    assert.equal(far.limit, maxLimit);
  });

  test('has taken one in a while: is soon sent as much as before, though it is farther away since', () => {
    let roundTripMs = 20;
    const simulation = new Simulation(1, {
      get roundTripMs() {
        return roundTripMs;
      },
      perMs: (nowMs) => (nowMs >= 2000 && nowMs < 20_000 ? 0.003 : 1000),
    });
    simulation.run(20_000);
    assert.ok(simulation.paces[0]!.limit <= 2, `${simulation.paces[0]!.limit} in flight`);
    roundTripMs = 300;
    simulation.run(30_000);
    assert.equal(simulation.paces[0]!.limit, maxLimit);
  });

  test('has refused everything for a second: soon gets as much as before', () => {
    const simulation = new Simulation(1, {
      roundTripMs: 100,
      perMs: (nowMs) => (nowMs >= 5000 && nowMs < 6000 ? 0 : 1000),
    });
    simulation.run(5000);
    const { limit } = simulation.paces[0]!;
    simulation.run(1200);
    assert.ok(simulation.paces[0]!.limit < limit / 100);
    simulation.run(2000);
    assert.equal(simulation.paces[0]!.limit, limit);
  });
});

test('one refusal among hundreds changes nothing, half of them halve the window', () => {
  for (const [every, window] of [
    [150, 2 * latencyFloor],
    [2, latencyFloor / 2],
  ] as const) {
    const pace = new Pacing();
    pace.recordLimitReached();
    for (let answer = 1; answer <= latencyFloor / 4; answer += 1) {
      if (answer % every === 0) pace.recordRefused(50, 50);
      else pace.recordAccepted(50, 50);
    }
    assert.ok(Math.abs(pace.limit - window) <= 2, `${pace.limit} in flight`);
  }
});

test('connections are opened for what the limit may be two rounds later', () => {
  const pace = new Pacing();
  assert.equal(pace.limitAhead, 4 * latencyFloor);
  for (let answer = 0; answer < latencyFloor / 8; answer += 1) {
    pace.recordRefused(50, 50);
    pace.recordAccepted(50, 50);
  }
  pace.recordAccepted(50, 50);
  assert.ok(pace.limitAhead > pace.limit && pace.limitAhead < 0.6 * latencyFloor, `${pace.limitAhead}`);
});

test('the limit does not grow while nothing is held back', () => {
  const pace = new Pacing();
  for (let nowMs = 0; nowMs < 10_000; nowMs += 1) pace.recordAccepted(5, nowMs);
  assert.equal(pace.limit, latencyFloor);
});
