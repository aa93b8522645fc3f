// What commands print of strangers, on a terminal that has styles.
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { createOutput, createPrinter, type Output } from '../../src/cli/output/output.ts';
import { formatProgress, showProgress } from '../../src/cli/send/run-broadcast.ts';
import {
  type DeliveryReport,
  logDelivery,
  tellOnce,
  withReport,
} from '../../src/cli/serve/report-delivery.ts';
import { type Progress, watchProgress } from '../../src/delivery/broadcast/progress.ts';
import type { BroadcastRun } from '../../src/delivery/sender-interface.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { BroadcastStore } from '../../src/store/broadcasts.ts';
import type { Store } from '../../src/store/store.ts';
import { pluck } from '../../tools/pluck.ts';
import { within } from '../../tools/until.ts';
import { noCounts } from '../store/made-up-subscription.ts';
import { openTestStore } from '../store/test-database.ts';

const terminal = Object.assign(new Writable(), {
  isTTY: true,
  getColorDepth: () => 8,
  hasColors: () => true,
});

test('styles and line ends of the command pass; controls of strangers are escaped, styles that the command never made included', () => {
  const { style, toPrintable } = createPrinter(terminal);
  const text = `${style('bold', 'listens')} on\nhttp://127.0.0.1`;
  assert.equal(toPrintable(text), '\u001b[1mlistens\u001b[22m on\nhttp://127.0.0.1');
  const hostile = 'a\u001b[8m\u001b[2J\u009b31m\u202e\u200b\r\u0007';
  const escaped = String.raw`a\u001b[8m\u001b[2J\u009b31m\u202e\u200b\u000d\u0007`;
  assert.equal(toPrintable(`${style('bold', 'x')}${hostile}`), `\u001b[1mx\u001b[22m${escaped}`);
  assert.equal(toPrintable(style('bold', hostile)), `\u001b[1m${escaped}\u001b[22m`);
});

test('controls of strangers are escaped wherever a command writes: lines, JSON, tables, diagnostics, the line that changes', async () => {
  const hostile = 'a\u001b[2J\u202e';
  const escaped = String.raw`a\u001b[2J\u202e`;
  const written = { stdout: '', stderr: '' };
  const open = (name: keyof typeof written) =>
    Object.assign(
      new Writable({
        write: (chunk, _encoding, done) => {
          written[name] += String(chunk);
          done();
        },
      }),
      { isTTY: true, columns: 80, getColorDepth: () => 1, hasColors: () => false },
    ) as unknown as NodeJS.WriteStream & { fd: 1 & 2 };
  const output = createOutput({ stdout: open('stdout'), stderr: open('stderr') }, () => {});
  const table = { toJson: (name: string) => ({ name }), toText: String, header: hostile };
  await output.line(hostile);
  for (const json of [true, false]) {
    await output.result({ json }, { name: hostile }, hostile);
    await output.table({ json }, { ...table, rows: [hostile] });
    await output.table({ json: false }, { ...table, rows: [], ifEmpty: hostile });
  }
  output.diagnostic(hostile);
  output.live(hostile);
  const named = `{"name":"${escaped}"}`;
  const lines = [escaped, named, named, escaped, escaped, escaped, escaped];
  assert.deepEqual(written, { stdout: lines.join('\n'), stderr: `${escaped}\n`.repeat(3) });
});

// What `deskbell send` prints of its progress.

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
      const broadcast = {
        ...head,
        alarms: [alarm],
        origins: [],
        counts: { accepted: 0, pending: 1 },
        ...waiting,
      };
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

test('without a terminal, a line comes every five seconds at most, and none twice', async (t) => {
  const { lines, diagnostics } = await print(t, 2500, [1, 2, 3, 2, 2, 0, 0]);
  assert.deepEqual(
    lines.map((line) => /\d to be tried again$/.exec(line)?.[0]),
    ['2 to be tried again', undefined],
  );
  assert.equal(diagnostics.length, 1, 'an alarm is told once');
  assert.match(diagnostics[0]!, /^deskbell: .*push\.example\.org/);
});

test('on a terminal, the status line is always the newest', async (t) => {
  const { lines, live } = await print(t, 1, [1, 2], { isTerminal: true });
  assert.deepEqual(lines, []);
  assert.deepEqual(
    live.map((line) => /\d to be tried again$/.exec(line)?.[0]),
    ['1 to be tried again', '2 to be tried again'],
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
    const counts = { ...noCounts, accepted, pending: 2000 - accepted };
    const rest = { recipients: 2000, waiting: 0, toRetry: 0, heldBack: [] };
    return { id: 1, state: accepted === 2000 ? 'done' : 'running', counts, ...rest };
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

test('with --json, the progress is an event each second, and an alarm is one, once', async (t) => {
  const { lines, diagnostics } = await print(t, 500, [1, 2, 3, 4], { json: true });
  assert.deepEqual(diagnostics, []);
  const [alarmed, ...events] = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const told = { reason: 'bad-ttl', detail: 'TTL', rows: 1, firstAt: '1970-01-01T00:00:00.001Z' };
  assert.deepEqual(alarmed, { event: 'alarm', origin: alarm.origin, ...told });
  assert.deepEqual(pluck(events, 'event', 'waiting', 'settled', 'ratePerSecond', 'etaSeconds'), [
    ['progress', 2, 3, 16, 61],
    ['progress', 4, 3, 16, 61],
  ]);
});

const unreachable = () => new DeskbellError('ERR_STORE_UNAVAILABLE', 'The database cannot be reached.');

test('a fault that several report at the same time is told once, and again where it lasts', (t) => {
  const told: unknown[] = [];
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const tell = tellOnce((error) => told.push(String(error)));
  tell(unreachable());
  tell(unreachable());
  nowMs += 9_999;
  tell(unreachable());
  assert.equal(told.length, 1);
  nowMs += 1;
  tell(unreachable());
  tell(new Error('another one'));
  assert.deepEqual(told, [String(unreachable()), String(unreachable()), 'Error: another one']);
});

test('work and what reports of it tell of one fault together', async () => {
  const told: unknown[] = [];
  const report: DeliveryReport = {
    event: () => {},
    reachability: () => {},
    error: (error) => void told.push(String(error)),
  };
  const { promise: isRead, resolve } = Promise.withResolvers<void>();
  const fail = async () => {
    resolve();
    throw unreachable();
  };
  const store = { senders: { list: fail }, broadcasts: { listOpen: fail, summaries: fail, list: fail } };
  await withReport(store as unknown as Pick<Store, 'broadcasts' | 'senders'>, report, {
    delivers: true,
    work: async (onFault) => {
      onFault(unreachable());
      await isRead;
      onFault(unreachable());
    },
  });
  assert.deepEqual(told, [String(unreachable())]);
});

test('other processes that deliver are reported by each process, whether it delivers or not', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const startedAtMs = store.now();
  const sender = { kind: 'worker', pushServices: [] } as const;
  // this one comes first, and is left out
  const own = { machine: hostname(), processId: process.pid };
  await store.senders.put({ ...sender, ...own, id: 'own', startedAtMs: startedAtMs - 1 });
  // in containers, processes of several machines have the same id
  await store.senders.put({ ...sender, id: 'one', machine: 'push-1', processId: process.pid, startedAtMs });
  for (const delivers of [true, false]) {
    const reported = Promise.withResolvers<string>();
    const report: DeliveryReport = {
      event: () => {},
      reachability: () => {},
      worker: ({ machine, state }) => reported.resolve(`${machine} ${state}`),
      error: assert.fail,
    };
    await withReport(store, report, {
      delivers,
      work: async () => assert.equal(await within(reported.promise, 'the report'), 'push-1 started'),
    });
  }
});

test('the log of serve has workers that are lost and push services that cannot be reached as errors', () => {
  const records: Record<string, unknown>[] = [];
  const log = (level: string) => (record: object) => void records.push({ level, ...record });
  const stranger = 'https://stranger.example.net';
  const report = logDelivery({ info: log('info'), error: log('error') }, (of) => of === stranger);
  const worker = { machine: 'push-1', processId: 7, startedAtMs: 0 };
  for (const state of ['started', 'stopped', 'lost'] as const) report.worker?.({ ...worker, state });
  const origin = 'https://push.example.net';
  const away = { state: 'unreachable', sinceMs: 0, reason: '', machines: ['push-1'] } as const;
  report.reachability({ ...away, origin });
  report.reachability({ state: 'reachable', origin });
  report.reachability({ ...away, origin: stranger });
  const since = '1970-01-01T00:00:00.000Z';
  const process = { event: 'worker', machine: 'push-1', processId: 7, startedAt: since };
  const service = { event: 'push service', pushService: origin };
  const why = 'cannot be reached from push-1. Its messages wait and are tried again.';
  const lasts = { state: 'unreachable', since };
  assert.deepEqual(records.splice(0), [
    { level: 'info', ...process, state: 'started' },
    { level: 'info', ...process, state: 'stopped' },
    { level: 'error', ...process, state: 'lost' },
    { level: 'error', ...service, ...lasts, detail: `push.example.net ${why}` },
    { level: 'info', ...service, state: 'reachable', detail: 'push.example.net can be reached again.' },
    { level: 'info', ...service, ...lasts, pushService: stranger, detail: `stranger.example.net ${why}` },
  ]);
  report.error(unreachable());
  const { level, event, detail } = records[0]!;
  assert.deepEqual([level, event], ['error', 'delivery interrupted']);
  assert.match(String(detail), /The database cannot be reached/);
});
