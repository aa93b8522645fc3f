// The service next to a bare `node:http` server that does nothing: start, memory at rest, requests per second. The
// two take turns (A B A B); what counts is the ratio within each round, and the A/A row says how far to trust it.
// Then the service mounted by the handler next to the same by the middleware.
// CPU time per request is the server's own: it holds where another program or the load generator is in the way.
import { execFile, fork, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { residentMegabytesOf } from './measure/process-usage.ts';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';
import { measureLoad, type MeasuredLoad } from './service/measure-load.ts';
import { startBare, startDeskbell, startMounted, type Server } from './service/servers.ts';

const rounds = 5;
const windowMs = 1200;
const warmUpMs = 1000;
const connections = 64;

interface Case {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The server that is measured; it is stopped afterwards. */
  readonly start: () => Promise<Server>;
  readonly goal?: number;
}

export async function bench(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../scripts/build.ts')]);
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-'));
  try {
    await benchStart(folder);
    await benchRequests(folder);
    await benchMounts(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function benchStart(folder: string): Promise<void> {
  const again = join(folder, 'again');
  await (await startDeskbell(again)).stop();
  let made = 0;
  const starts: Readonly<Record<string, () => Promise<Server>>> = {
    'bare node:http': startBare,
    'deskbell serve, first run': () => startDeskbell(join(folder, `first-${(made += 1)}`)),
    'deskbell serve, again': () => startDeskbell(again),
  };
  const times = new Map<string, number[]>();
  const memory = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, start] of Object.entries(starts)) {
      const startedAt = performance.now();
      const server = await start();
      await (await fetch(`http://127.0.0.1:${server.port}/vapidKey`)).text();
      append(times, name, performance.now() - startedAt);
      await sleep(500);
      append(memory, name, (await residentMegabytesOf(server.pid)) ?? Number.NaN);
      await server.stop();
    }
  }
  printTable('Start and rest', [
    ['server', 'ms from start to first answer', 'MB at rest'],
    ...Object.keys(starts).map((name) => [
      name,
      formatSpread(spreadOf(times.get(name) ?? []), 0),
      formatSpread(spreadOf(memory.get(name) ?? []), 0),
    ]),
  ]);
}

async function benchRequests(folder: string): Promise<void> {
  const unlimited = ['--registrations-per-minute', 'off'];
  const log = ['--log-file', join(folder, 'records.log')];
  const allFour = 'action,filter,authenticator,action-creator';
  let served = 0;
  const serve = (flags: readonly string[]) => () =>
    startDeskbell(join(folder, `case-${(served += 1)}`), ...flags);
  const cases: readonly Case[] = [
    { name: 'A/A: bare against bare', method: 'GET', path: '/', start: startBare },
    { name: 'GET /vapidKey', method: 'GET', path: '/vapidKey', start: serve(['--logging', '']), goal: 0.85 },
    {
      name: 'POST /webPush, each durable',
      method: 'POST',
      path: '/webPush',
      start: serve(['--logging', '', ...unlimited, ...log]),
    },
    {
      name: 'GET /api/get, no logging',
      method: 'GET',
      path: '/api/get',
      start: serve(['--logging', '']),
      goal: 0.85,
    },
    {
      name: 'GET /api/get, filter to a file',
      method: 'GET',
      path: '/api/get',
      start: serve(['--logging', 'filter', ...log]),
      goal: 0.72,
    },
    {
      name: 'GET /api/get, all four to a file',
      method: 'GET',
      path: '/api/get',
      start: serve(['--logging', allFour, '--authenticate', 'none', ...log]),
    },
  ];
  await compareAll('Requests', 'bare', startBare, cases);
}

/** What the `Request` and the `Response` cost that a handler has in the place of a connection. */
async function benchMounts(folder: string): Promise<void> {
  let mounted = 0;
  const mount = (how: 'middleware' | 'handler') => () =>
    startMounted(how, join(folder, `mounted-${(mounted += 1)}`));
  const get = { method: 'GET', path: '/push/vapidKey' } as const;
  await compareAll('createHandler next to createMiddleware', 'middleware', mount('middleware'), [
    { name: 'A/A: GET /vapidKey, middleware against middleware', ...get, start: mount('middleware') },
    { name: 'GET /vapidKey, handler', ...get, start: mount('handler') },
    {
      name: 'POST /webPush, each durable, handler',
      method: 'POST',
      path: '/push/webPush',
      start: mount('handler'),
    },
  ]);
}

async function compareAll(
  title: string,
  baseName: string,
  startBase: () => Promise<Server>,
  cases: readonly Case[],
): Promise<void> {
  const head = ['request', 'per second', baseName, 'ratio', 'goal', 'CPU µs', baseName, 'ratio', 'p99 ms'];
  const rows: string[][] = [];
  const generator = fork(join(import.meta.dirname, 'service/load.ts'));
  const base = await startBase();
  try {
    for (const each of cases) {
      const server = await each.start();
      rows.push(await compare(each, server, base, generator));
      await server.stop();
    }
  } finally {
    generator.kill();
    await base.stop();
  }
  printTable(`${title}, ${connections} connections, medians of ${rounds} rounds (range)`, [head, ...rows]);
}

async function compare(
  { name, method, path, goal }: Case,
  server: Server,
  base: Server,
  generator: ChildProcess,
): Promise<string[]> {
  const measure = (target: Server, durationMs: number): Promise<MeasuredLoad> =>
    measureLoad(generator, target, { method, path, connections, durationMs });
  const ours: MeasuredLoad[] = [];
  const theirs: MeasuredLoad[] = [];
  await measure(base, warmUpMs);
  await measure(server, warmUpMs);
  for (let round = 0; round < rounds; round += 1) {
    theirs.push(await measure(base, windowMs));
    ours.push(await measure(server, windowMs));
  }
  const ratios = ours.map((our, round) => {
    const { perSecond, cpuMicroseconds } = theirs[round] as MeasuredLoad;
    return { speed: our.perSecond / perSecond, cpu: cpuMicroseconds / our.cpuMicroseconds };
  });
  return [
    name,
    median(ours, 'perSecond').toFixed(0),
    median(theirs, 'perSecond').toFixed(0),
    formatSpread(spreadOf(ratios.map(({ speed }) => speed)), 2),
    goal?.toFixed(2) ?? '',
    median(ours, 'cpuMicroseconds').toFixed(1),
    median(theirs, 'cpuMicroseconds').toFixed(1),
    formatSpread(spreadOf(ratios.map(({ cpu }) => cpu)), 2),
    median(ours, 'p99Ms').toFixed(1),
  ];
}

const median = (measured: readonly MeasuredLoad[], figure: keyof MeasuredLoad): number =>
  spreadOf(measured.map((each) => each[figure])).median;

function append(lists: Map<string, number[]>, name: string, value: number): void {
  lists.set(name, [...(lists.get(name) ?? []), value]);
}
