// What `deskbell send` prints of its progress.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { watchProgress, type Progress } from '../../src/delivery/broadcast/progress.ts';
import type { BroadcastRun } from '../../src/delivery/sender-interface.ts';
import type { Output } from '../../src/cli/output/output.ts';
import type { BroadcastStore } from '../../src/store/broadcasts.ts';
import { formatProgress, showProgress } from '../../src/cli/send/progress.ts';

const alarm = { origin: 'https://push.example.org', reason: 'bad-ttl', detail: 'TTL', rows: 1, firstAtMs: 1 };

/** What is printed of progress that comes every so many milliseconds. */
async function print(
  t: TestContext,
  everyMs: number,
  toRetry: readonly number[],
  { json = false, isTerminal = false } = {},
) {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  async function* progress(): AsyncGenerator<Progress> {
    for (const rows of toRetry) {
      nowMs += everyMs;
      const waiting = { recipients: 1, waiting: rows, toRetry: rows, heldBack: [], expired: 0 };
      const times = { createdAtMs: 0, startAtMs: 0, expiresAtMs: 0 };
      const head = { id: 1, state: 'running', payload: Buffer.from('{}'), ...times };
      const broadcast = { ...head, alarms: [alarm], origins: [], counts: {}, ...waiting };
      yield { broadcast, settled: 3, ratePerSecond: 16.4, etaSeconds: 61 } as unknown as Progress;
    }
  }
  const lines: string[] = [];
  const live: string[] = [];
  const diagnostics: string[] = [];
  const output = {
    isTerminal,
    live: (text: string) => void live.push(text),
    line: async (text: string) => void lines.push(text),
    diagnostic: (text: string) => void diagnostics.push(text),
  };
  await showProgress({ progress } as unknown as BroadcastRun, output as unknown as Output, json);
  return { lines, live, diagnostics };
}

test('without a terminal, a broadcast that waits prints no line twice', async (t) => {
  const { lines, diagnostics } = await print(t, 10_000, [1, 1, 1, 0, 0]);
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /1 waiting for a retry$/);
  assert.equal(diagnostics.length, 1, 'an alarm is told once');
  assert.match(diagnostics[0]!, /^deskbell: .*push\.example\.org/);
});

test('on a terminal, the status line is always the newest', async (t) => {
  const { lines, live } = await print(t, 1, [1, 2], { isTerminal: true });
  assert.deepEqual(lines, []);
  assert.deepEqual(
    live.map((line) => /\d waiting for a retry$/.exec(line)?.[0]),
    ['1 waiting for a retry', '2 waiting for a retry'],
  );
});

test('rate and time left are those of the last seconds; where nothing moves, no time is left', async (t) => {
  assert.deepEqual(
    await watch(t, [
      { atMs: 0, accepted: 0 },
      { atMs: 2000, accepted: 1000 },
      { atMs: 4000, accepted: 1500 },
      { atMs: 10_000, accepted: 1500 },
      { atMs: 16_000, accepted: 2000 },
    ]),
    [
      [0, undefined],
      [500, 2],
      [375, 1],
      [0, undefined],
      [83, undefined],
    ],
  );
});

test('there is no time left from the first moments, unless much was settled in them', async (t) => {
  assert.deepEqual(
    await watch(t, [
      { atMs: 0, accepted: 0 },
      { atMs: 500, accepted: 1 },
      { atMs: 1000, accepted: 100 },
      { atMs: 1900, accepted: 101 },
      { atMs: 2100, accepted: 102 },
      { atMs: 3000, accepted: 2000 },
    ]),
    [
      [0, undefined],
      [2, undefined],
      [100, 19],
      [53, 36],
      [49, 39],
      [667, undefined],
    ],
  );
  assert.deepEqual(
    await watch(t, [
      { atMs: 0, accepted: 0 },
      { atMs: 1900, accepted: 10 },
      { atMs: 2100, accepted: 20 },
      { atMs: 3000, accepted: 2000 },
    ]),
    [
      [0, undefined],
      [5, undefined],
      [10, 208],
      [667, undefined],
    ],
  );
});

/** @returns rate and time left at each of these states of a broadcast to 2000 */
async function watch(
  t: TestContext,
  states: readonly { readonly atMs: number; readonly accepted: number }[],
): Promise<readonly unknown[]> {
  let nowMs = 0;
  const clock = t.mock.method(performance, 'now', () => nowMs);
  const found = states.values();
  const find = async () => {
    const { atMs, accepted } = found.next().value!;
    nowMs = atMs;
    const none = {
      gone: 0,
      rejected: 0,
      expired: 0,
      exhausted: 0,
      capped: 0,
      doubtful: 0,
      removed: 0,
      cancelled: 0,
    };
    const counts = { ...none, accepted, pending: 2000 - accepted, unaccounted: 0 };
    return { id: 1, state: accepted === 2000 ? 'done' : 'running', recipients: 2000, counts };
  };
  const shown: unknown[] = [];
  const store = { find } as unknown as BroadcastStore;
  for await (const { ratePerSecond, etaSeconds } of watchProgress(store, 1, new Promise(() => {}), 1))
    shown.push([Math.round(ratePerSecond), etaSeconds && Math.round(etaSeconds)]);
  clock.mock.restore();
  return shown;
}

test('while the audience is prepared, it shows how many were found', () => {
  const broadcast = { id: 1, state: 'preparing', recipients: 1234 };
  assert.equal(
    formatProgress({ broadcast, settled: 0, ratePerSecond: 0 } as Progress),
    'Broadcast 1 is preparing: 1,234 subscriptions found so far',
  );
});

test('without a terminal, a line comes every five seconds at most', async (t) => {
  const { lines } = await print(t, 1000, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /5 waiting for a retry$/);
});

test('with --json, the progress is an event each second', async (t) => {
  const { lines } = await print(t, 500, [1, 2, 3, 4], { json: true });
  const events = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  assert.deepEqual(
    events
      .filter(({ event }) => event !== 'alarm')
      .map(({ event, waiting, settled, ratePerSecond, etaSeconds }) => [
        event,
        waiting,
        settled,
        ratePerSecond,
        etaSeconds,
      ]),
    [
      ['progress', 2, 3, 16, 61],
      ['progress', 4, 3, 16, 61],
    ],
  );
});

test('with --json, an alarm is an event, once', async (t) => {
  const { lines, diagnostics } = await print(t, 1, [1, 1], { json: true });
  assert.deepEqual(diagnostics, []);
  const told = { reason: 'bad-ttl', detail: 'TTL' };
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [{ event: 'alarm', origin: alarm.origin, ...told, rows: 1, firstAt: '1970-01-01T00:00:00.001Z' }],
  );
});
