// What this version costs beside another one: processor time and memory of a broadcast, of `send()` and of a registration, and of
// PostgreSQL under them. The other one takes turns with this one, which runs twice; what counts is the ratio within a round, and the
// A/A column says how far to trust it. `npm run bench -- versions --against ../other`: a checkout with its packages installed.
import { execFile, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { generateVapidKeys } from '../src/index.ts';
import { readRows } from '../tools/postgres-client.ts';
import type { BroadcastSetup, DatabaseServer, measureBroadcast } from './broadcast/measure-broadcast.ts';
import { residentMegabytesOf } from './measure/process-usage.ts';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';
import { withBenchServer, type BenchServer } from './postgres/database-server.ts';
import { measure } from './send/measure.ts';
import { startPushServices } from './send/push-services.ts';
import { startSampleReader } from './send/sample-reader.ts';
import { makeSubscribers, writeWorkload } from './send/workload.ts';
import { measureLoad } from './service/measure-load.ts';
import { startVersion } from './service/servers.ts';

const here = join(import.meta.dirname, '..');
const registering = { method: 'POST', path: '/webPush', connections: 64 } as const;

/** For each message or registration; of PostgreSQL as long as it is used. */
interface Cost {
  readonly cpuMicroseconds: number;
  readonly megabytes: number;
  readonly database?: { readonly cpuMicroseconds: number; readonly transactions: number } | undefined;
}

/** @param folder of a checkout that is built */
type Measure = (folder: string) => Promise<Cost>;

export async function bench({
  quick,
  against,
}: {
  readonly quick: boolean;
  readonly against: string | undefined;
}): Promise<void> {
  if (against === undefined)
    return console.log('"versions" needs --against with the folder of another checkout.\n');
  const other = resolve(against);
  for (const folder of [here, other]) await build(folder);
  const [rounds, count, seconds] = quick ? [2, 10_000, 2] : [7, 30_000, 5];
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-versions-'));
  const lines: string[][] = [];
  const compare = async (name: string, measureOne: Measure): Promise<void> => {
    lines.push(lineOf(name, await takeTurns(rounds, other, measureOne)));
  };
  try {
    await withSending(folder, count, (sending) => compare('send()', sending));
    await compare('broadcast, SQLite', (version) => broadcast(version, count));
    await compare('registration, SQLite', (version) => register(version, folder, seconds * 1000));
    await withBenchServer(async (server) => {
      await compare('broadcast, PostgreSQL', (version) => broadcast(version, count, server));
      await compare('registration, PostgreSQL', (version) =>
        server.withBareDatabase((database) => register(version, folder, seconds * 1000, database)),
      );
    });
  } finally {
    await rm(folder, { recursive: true });
  }
  printTable(`This version beside ${other}, ${rounds} rounds: median (range) of the ratios`, [
    ['', 'CPU µs', 'ratio', 'A/A', 'memory', 'A/A', 'CPU of PostgreSQL', 'A/A', 'transactions'],
    ...lines,
  ]);
}

async function build(folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, [join(folder, 'scripts/build.ts')], { cwd: folder });
}

interface Round {
  readonly ours: Cost;
  readonly again: Cost;
  readonly theirs: Cost;
}

async function takeTurns(rounds: number, other: string, measureOne: Measure): Promise<readonly Round[]> {
  const all: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const ours = await measureOne(here);
    const theirs = await measureOne(other);
    all.push({ ours, theirs, again: await measureOne(here) });
  }
  return all;
}

const cpu = ({ cpuMicroseconds }: Cost): number => cpuMicroseconds;
const memory = ({ megabytes }: Cost): number => megabytes;
const databaseCpu = ({ database }: Cost): number | undefined => database?.cpuMicroseconds;

function lineOf(name: string, rounds: readonly Round[]): string[] {
  const ratios = (to: 'theirs' | 'again', figureOf: (cost: Cost) => number | undefined): string => {
    const values = rounds.map((round) => (figureOf(round.ours) ?? NaN) / (figureOf(round[to]) ?? NaN));
    return values.some(Number.isNaN) ? '' : formatSpread(spreadOf(values), 2);
  };
  return [
    name,
    formatSpread(spreadOf(rounds.map(({ ours }) => cpu(ours))), 1),
    ratios('theirs', cpu),
    ratios('again', cpu),
    ratios('theirs', memory),
    ratios('again', memory),
    ratios('theirs', databaseCpu),
    ratios('again', databaseCpu),
    ratios('theirs', ({ database }) => database?.transactions),
  ];
}

/** The other checkout's own program stores its rows and sends to them: its tables may be others. */
async function broadcast(folder: string, rows: number, server?: BenchServer): Promise<Cost> {
  const program = pathToFileURL(join(folder, 'bench/broadcast/measure-broadcast.ts')).href;
  const own = (await import(program)) as { measureBroadcast: typeof measureBroadcast };
  const run = async (setup: BroadcastSetup) => {
    const measured = await own.measureBroadcast(rows, { senders: 1, threads: 1, ...setup });
    return {
      cpuMicroseconds: measured.cpuMicroseconds / rows,
      megabytes: Math.max(...measured.residentMegabytes),
      databaseMicroseconds: measured.databaseCpuMicroseconds,
    };
  };
  if (server === undefined) return run({});
  return server.withBareDatabase(async (database) => {
    let before = 0;
    const settle = async (): Promise<void> => {
      await database.settle();
      before = await transactionsOf(database);
    };
    const measured = await run({ database: { ...database, settle } });
    const cpuMicroseconds = (measured.databaseMicroseconds ?? NaN) / rows;
    const transactions = ((await transactionsOf(database)) - before) / rows;
    return { ...measured, database: { cpuMicroseconds, transactions } };
  });
}

async function register(
  folder: string,
  dataIn: string,
  durationMs: number,
  database?: DatabaseServer,
): Promise<Cost> {
  const data = await mkdtemp(join(dataIn, 'data-'));
  const flags = ['--logging', '', '--registrations-per-minute', 'off', '--log-file', join(data, 'log')];
  const place = database === undefined ? [] : ['--database', database.url];
  const server = await startVersion(folder, data, ...flags, ...place);
  const generator = fork(join(import.meta.dirname, 'service/load.ts'));
  try {
    // what is compiled and planned at first is not counted
    await measureLoad(generator, server, { ...registering, durationMs: durationMs / 4 });
    const [cpuBefore, before] = [await database?.cpuSeconds(), database && (await transactionsOf(database))];
    const { requests, cpuMicroseconds } = await measureLoad(generator, server, {
      ...registering,
      durationMs,
    });
    const megabytes = (await residentMegabytesOf(server.pid)) ?? NaN;
    if (database === undefined) return { cpuMicroseconds, megabytes };
    const ofDatabase = {
      cpuMicroseconds: (((await database.cpuSeconds()) - cpuBefore!) * 1e6) / requests,
      transactions: ((await transactionsOf(database)) - before!) / requests,
    };
    return { cpuMicroseconds, megabytes, database: ofDatabase };
  } finally {
    generator.kill();
    await server.stop();
  }
}

/** PostgreSQL adds them up when a session has been idle for a moment. */
async function transactionsOf({ url }: DatabaseServer): Promise<number> {
  const [row] = await readRows<{ readonly count: string }>(
    url,
    'select xact_commit as count from pg_stat_database where datname = current_database()',
  );
  return Number(row?.count);
}

async function withSending(
  folder: string,
  count: number,
  work: (sending: Measure) => Promise<void>,
): Promise<void> {
  const subscribers = makeSubscribers(count);
  const sampleReader = await startSampleReader(subscribers);
  const pushServices = await startPushServices(folder, sampleReader.port);
  try {
    const vapid = { ...generateVapidKeys(), subject: 'mailto:bench@example.org' };
    const origin = pushServices.near;
    const workload = await writeWorkload(folder, origin, subscribers, vapid.publicKey);
    const place = { folder, vapid, pushServices, sampleReader };
    const run = { sender: 'deskbell send', origin, inFlight: 64, threads: 0, workload };
    await work(async (packageFolder) => {
      const { cpuMicroseconds, peakMegabytes } = await measure({ ...run, packageFolder }, place);
      return { cpuMicroseconds, megabytes: peakMegabytes };
    });
  } finally {
    await pushServices.stop();
    await sampleReader.stop();
  }
}
