// Single messages of four processes to one push service, with PostgreSQL as durable as it is by itself, beside the same without
// a store: how many a second, how long one takes where a quarter of that is offered, and what a worker's commits take
// meanwhile. The processors are shared by all, nginx as the push service too: compare the rows.
import { execFile, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import { startNginxSink } from './broadcast/nginx-sink.ts';
import { seedSubscriptions } from './broadcast/seed.ts';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';
import { withBenchServer } from './postgres/database-server.ts';
import { commitPages, pageRows } from './single/commit-pages.ts';
import type { SingleOrder, SingleReport } from './single/sending-process.ts';

const processes = 4;
const offeredPerSecond = 2000;
const goals = { perSecond: 5000, timesWithoutStore: 2, timesAlone: 1.5 };
/** Pages that a worker commits in one round, and how many of them in a second. */
const pages = { count: 100, perSecond: 20 };

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../scripts/build.ts')]);
  const [rounds, seconds] = quick ? [4, 2] : [7, 5];
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-single-'));
  const sink = await startNginxSink();
  try {
    await withBenchServer((server) =>
      server.withDatabase(async ({ url: database, settle }) => {
        await seedSubscriptions(directory, sink.origin, pages.count * pageRows, database);
        await settle();
        const order = { directory, database, origin: sink.origin, caFile: sink.caFile };
        await benchSending(order, rounds, seconds);
        await benchCommits(order, rounds);
      }),
    );
  } finally {
    await sink.remove();
    await rm(directory, { recursive: true });
  }
}

type Place = Pick<SingleOrder, 'directory' | 'database' | 'origin' | 'caFile'>;

async function benchSending(place: Place, rounds: number, seconds: number): Promise<void> {
  const kinds = ['none', 'none again', 'database'] as const;
  const perSecond = new Map<string, number[]>();
  const p99Ms = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of kinds) {
      const order = { ...place, seconds, hasStore: kind === 'database' };
      const all = await sendFromAll(order);
      append(perSecond, kind, all.reduce((sum, { sent }) => sum + sent, 0) / seconds);
      const offered = await sendFromAll({ ...order, perSecond: offeredPerSecond / processes });
      append(p99Ms, kind, percentileOf(offered.flatMap(({ tookMs }) => tookMs)));
    }
  }
  printTable(`Single messages of ${processes} processes to one push service, ${rounds} rounds`, [
    ['store', 'messages/s', 'ratio', `p99 at ${offeredPerSecond}/s, ms`, 'ratio'],
    ...kinds.map((kind) => [
      kind,
      formatSpread(spreadOf(perSecond.get(kind)!), 0),
      formatSpread(ratios(perSecond, kind, 'none'), 2),
      formatSpread(spreadOf(p99Ms.get(kind)!), 1),
      formatSpread(ratios(p99Ms, kind, 'none'), 2),
    ]),
    ['goal', `≥ ${goals.perSecond}`, '', '', `≤ ${goals.timesWithoutStore}`],
  ]);
}

async function benchCommits(place: Place, rounds: number): Promise<void> {
  const kinds = ['none', 'none again', 'without a store', 'with the database'] as const;
  const ms = new Map<string, number[]>();
  const worker = await openPostgresStore({ url: place.database });
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of kinds) {
      const order = {
        ...place,
        hasStore: kind === 'with the database',
        perSecond: offeredPerSecond / processes,
      };
      const senders = kind.startsWith('none') ? [] : await startAll(order);
      for (const child of senders) child.send('go');
      append(ms, kind, await commitPages(worker, place.origin, pages));
      await Promise.all(senders.map(end));
    }
  }
  await worker.close();
  printTable(`A worker's commit of ${pageRows} accepted rows beside ${offeredPerSecond} single messages/s`, [
    ['single messages', 'ms, median', 'times alone', 'times without a store'],
    ...kinds.map((kind) => [
      kind,
      formatSpread(spreadOf(ms.get(kind)!), 1),
      formatSpread(ratios(ms, kind, 'none'), 2),
      formatSpread(ratios(ms, kind, 'without a store'), 2),
    ]),
    ['goal', '', `≤ ${goals.timesAlone}`, ''],
  ]);
}

/** Has all processes send at the same time. */
async function sendFromAll(order: SingleOrder): Promise<readonly SingleReport[]> {
  const children = await startAll(order);
  for (const child of children) child.send('go');
  return Promise.all(children.map((child) => messageOf<SingleReport>(child)));
}

async function end(child: ChildProcess): Promise<void> {
  child.kill();
  await once(child, 'exit');
}

async function startAll(order: SingleOrder): Promise<readonly ChildProcess[]> {
  const program = join(import.meta.dirname, 'single/sending-process.ts');
  const children = Array.from({ length: processes }, () => fork(program, [JSON.stringify(order)]));
  await Promise.all(children.map((child) => messageOf<'ready'>(child)));
  await sleep(200);
  return children;
}

async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const [message] = (await once(child, 'message')) as [Message];
  return message;
}

function percentileOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * 0.99)] ?? NaN;
}

/** Of each round. */
const ratios = (values: ReadonlyMap<string, readonly number[]>, of: string, to: string) =>
  spreadOf(values.get(of)!.map((value, round) => value / values.get(to)![round]!));

function append(lists: Map<string, number[]>, name: string, value: number): void {
  lists.set(name, [...(lists.get(name) ?? []), value]);
}
