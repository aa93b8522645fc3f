// Searches the behaviours of push services over time for those that make a broadcast more than twice as slow as its messages
// would be alone. Round trip, refusals of every kind, late and missing answers, capacity and outages change at any moment,
// connections end, and others that work or hang are beside it. Time is simulated.
//   DESKBELL_TEST_SEEDS=500 DESKBELL_TEST_SEED=1000 npm test -- test/delivery/push-service-behaviours.all.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { defaultTimeouts } from '../../src/transport/check-options.ts';
import { simulateBroadcast, simulationStartMs, type Answer, type Behaviour } from './simulation.ts';

/** To each push service. */
const rows = 2000;
const seeds = Number(process.env['DESKBELL_TEST_SEEDS'] ?? 30);
const firstSeed = Number(process.env['DESKBELL_TEST_SEED'] ?? 1);

const refusals = ['503', '503 Retry-After', '429', '429 Retry-After', 'stream'] as const;
/** In seconds. */
const retryAfter = 3;
/** A breaker's longest wait for a connection, with the random part, and the time to connect. */
const reconnectMs = 6500;

interface Phase {
  readonly untilMs: number;
  readonly roundTripMs: number;
  readonly refusal: (typeof refusals)[number];
  readonly refusedShare: number;
  readonly lateShare: number;
  readonly missingShare: number;
  /** Requests a second; what is over it is refused, or waits there. */
  readonly capacity: number;
  readonly isQueueing: boolean;
  readonly connects: 'refused' | 'silent' | undefined;
}

interface Drawn {
  readonly phases: readonly Phase[];
  readonly endsAfter: number;
  readonly endsBy: 'goaway' | 'reset';
  readonly others: readonly ('works' | 'hangs')[];
}

const calm: Phase = {
  untilMs: Infinity,
  roundTripMs: 300,
  refusal: '503',
  refusedShare: 0,
  lateShare: 0,
  missingShare: 0,
  capacity: Infinity,
  isQueueing: false,
  connects: undefined,
};

/** Numerical Recipes' linear congruential generator; its first numbers are alike for like seeds. */
function createRandom(seed: number): () => number {
  let state = seed;
  const next = (): number => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
  for (let skipped = 0; skipped < 5; skipped += 1) next();
  return next;
}

function draw(seed: number): Drawn {
  const random = createRandom(seed * 7919);
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)]!;
  const phases: Phase[] = [];
  // a third of them change in one respect only
  const only = pick([undefined, undefined, Math.floor(random() * 5)]);
  const may = <Value>(aspect: number, values: readonly Value[]): Value =>
    only === undefined || only === aspect ? pick(values) : values[0]!;
  const refusal = pick(refusals);
  for (let untilMs = 0; untilMs < 20_000;) {
    const lastsMs = pick([200, 500, 1000, 3000, 10_000]);
    untilMs += lastsMs;
    phases.push({
      untilMs,
      roundTripMs: may(0, [300, 20, 100, 500, 1000]),
      refusal,
      // who refuses much for long, whatever the rate, is taken at their word
      refusedShare: may(1, lastsMs <= 1000 ? [0, 0, 0.01, 0.05, 0.3, 1] : [0, 0, 0.01, 0.05]),
      lateShare: may(2, [0, 0, 0.01, 0.05]),
      missingShare: may(2, [0, 0, 0, 0.001]),
      capacity: may(3, [Infinity, Infinity, 2000, 1000, 500, 250]),
      isQueueing: pick([true, false]),
      connects: may(4, [undefined, undefined, undefined, 'refused', 'silent']),
    });
  }
  return {
    phases,
    endsAfter: pick([Infinity, Infinity, 50, 1000]),
    endsBy: pick(['goaway', 'reset']),
    others: pick([[], [], ['works', 'works'], ['works', 'hangs']] as const),
  };
}

const phaseAt = ({ phases }: Drawn, ms: number): Phase => phases.find(({ untilMs }) => ms < untilMs) ?? calm;

const isRefusedAnswer = ({ status, isStreamRefused }: Answer): boolean =>
  isStreamRefused === true || status === 503 || status === 429;

function refuse({ refusal, roundTripMs: afterMs }: Phase): Answer {
  if (refusal === 'stream') return { afterMs, isStreamRefused: true };
  const status = refusal.startsWith('503') ? 503 : 429;
  return refusal.endsWith('Retry-After')
    ? { afterMs, status, headers: { 'retry-after': String(retryAfter) } }
    : { afterMs, status };
}

/** What comes of a request, but for the capacity. */
function answerOf(phase: Phase, seed: number, row: number, attempt: number): Answer {
  const random = createRandom(row * 31 + attempt * 17 + seed);
  if (random() < phase.refusedShare) return refuse(phase);
  if (random() < phase.missingShare && attempt === 1) return { afterMs: phase.roundTripMs };
  return { afterMs: phase.roundTripMs + (random() < phase.lateShare ? 5000 : 0), status: 201 };
}

function behave(drawn: Drawn, seed: number): Behaviour {
  let busyUntilMs = 0;
  return {
    roundTripMs: drawn.phases[0]!.roundTripMs,
    answer: (row, attempt, nowMs) => {
      const phase = phaseAt(drawn, nowMs - simulationStartMs);
      const answer = answerOf(phase, seed, row, attempt);
      if (phase.capacity === Infinity || isRefusedAnswer(answer)) return answer;
      // a tenth of a second's requests are taken at once
      const waitMs = Math.max(0, busyUntilMs - nowMs - (phase.isQueueing ? 0 : 100));
      if (waitMs > 0 && !phase.isQueueing) return refuse(phase);
      busyUntilMs = Math.max(busyUntilMs, nowMs) + 1000 / phase.capacity;
      return { ...answer, afterMs: answer.afterMs + waitMs };
    },
    ends: (connection) =>
      drawn.endsAfter < Infinity && connection % 5 === 1
        ? { after: drawn.endsAfter, by: drawn.endsBy }
        : undefined,
    connects: (nowMs) => phaseAt(drawn, nowMs - simulationStartMs).connects,
  };
}

/** How long it takes to send all, as far as capacity and outages permit. */
function sendingMs(drawn: Drawn): number {
  let left = rows;
  for (let ms = 0; ; ms += 50) {
    const { capacity, refusedShare, connects } = phaseAt(drawn, ms);
    if (connects === undefined) left -= (Math.min(capacity, 10_000) * (1 - refusedShare)) / 20;
    if (left <= 0) return ms;
  }
}

/** When a message ends that is sent alone at a time. */
function endAlone(drawn: Drawn, seed: number, row: number, startMs: number): number {
  let ms = startMs;
  let attempts = 0;
  for (let refused = 0; ;) {
    const phase = phaseAt(drawn, ms);
    if (phase.connects !== undefined) {
      ms = phase.untilMs + reconnectMs + (phase.connects === 'silent' ? defaultTimeouts.connectTimeoutMs : 0);
      continue;
    }
    const answer = answerOf(phase, seed, row, attempts + 1);
    const isMissing = answer.status === undefined && !answer.isStreamRefused;
    ms += isMissing ? defaultTimeouts.responseTimeoutMs : answer.afterMs;
    if (answer.isStreamRefused) {
      ms += 20 * 2 ** Math.min(refused, 9);
      refused += 1;
      continue;
    }
    attempts += 1;
    if ((!isMissing && !isRefusedAnswer(answer)) || attempts === defaultRetryPolicy.maxAttempts) return ms;
    const asksAlone = answer.headers !== undefined && attempts === 1;
    const backoffMs = defaultRetryPolicy.firstDelayMs * 2 ** (attempts - 1);
    ms +=
      1.125 * (asksAlone ? 1000 * retryAfter : Math.max(backoffMs, answer.headers ? 1000 * retryAfter : 0));
  }
}

/** When a message comes back that was sent once in vain. */
const backMs = 1.125 * defaultRetryPolicy.firstDelayMs;

/** @returns how long a broadcast may take: twice as long as its messages alone */
function mostMs(drawn: Drawn, seed: number): number {
  const roundTripMs = Math.max(...drawn.phases.map((phase) => phase.roundTripMs));
  // a window that doubles from a hundred on, after a connection is made
  const startMs = (4 + Math.ceil(Math.log2(rows / 100))) * roundTripMs;
  const withinMs = startMs + sendingMs(drawn);
  let lastMs = 0;
  const count = 1 + drawn.others.length;
  for (let row = 0; row < rows; row += 1)
    lastMs = Math.max(lastMs, endAlone(drawn, seed, row * count, (withinMs * row) / rows));
  // a message whose connection is lost comes back after five seconds
  const isCut = drawn.endsAfter < Infinity;
  // nobody knows a limit on the rate before messages are refused for it
  const isLimited = drawn.phases.some((phase) => phase.capacity < Infinity && !phase.isQueueing);
  return 2 * (lastMs + (isCut ? backMs : 0) + (isLimited ? backMs : 0));
}

const works: Behaviour = { roundTripMs: 100, answer: () => ({ afterMs: 100, status: 201 }) };
const hangs: Behaviour = { roundTripMs: 100, answer: () => ({ afterMs: 100 }) };

for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
  test(`behaviour ${seed} makes a broadcast at most twice as slow as its messages alone`, async (t) => {
    const drawn = draw(seed);
    t.diagnostic(JSON.stringify(drawn));
    const others = drawn.others.map((other) => (other === 'works' ? works : hangs));
    const hasHanging = drawn.others.includes('hangs');
    const count = 1 + others.length;
    const expected = rows * (count - (hasHanging ? 1 : 0));
    const run = await simulateBroadcast([behave(drawn, seed), ...others], {
      rows: rows * count,
      limitMs: 600_000,
      ...(hasHanging && {
        isOver: ({ counts: { accepted, exhausted, doubtful } }) =>
          accepted + exhausted + doubtful >= expected,
      }),
    });
    const { accepted, doubtful, exhausted } = run.broadcast.counts;
    assert.ok(accepted + doubtful + exhausted >= expected);
    const [firstMs, ...otherMs] = run.lastAnswerMs;
    const most = mostMs(drawn, seed);
    const what = JSON.stringify(drawn);
    assert.ok(firstMs! <= most, `${Math.round(firstMs!)} ms of ${Math.round(most)}: ${what}`);
    for (const [index, other] of drawn.others.entries()) {
      if (other === 'works') assert.ok(otherMs[index]! <= 2000, `${otherMs[index]} ms beside it: ${what}`);
    }
  });
}
