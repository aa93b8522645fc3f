// PostgreSQL beside SQLite: what a broadcast by two sender processes costs them and the database, when its first message goes
// out, and how much memory they take; whether two senders that wait for a push service most of the time do twice the work of one;
// how many registrations are stored in a second; how many pages are committed while the disk is slow. Everything shares this machine's processors, nginx as the push service too.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { measureBroadcast, type MeasuredBroadcast } from './broadcast/measure-broadcast.ts';
import { printTable } from './measure/table.ts';
import { withBenchServer, type BenchServer } from './postgres/database-server.ts';
import { benchCommits } from './postgres/commits.ts';
import { benchRegistrations } from './postgres/registrations.ts';

const goals = { timesSqlite: 1.15, firstMs: 1000, megabytes: 200, timesOneSender: 1.9 };
/** 3,000 messages per second of each sender at most, so that two do not want for a processor. */
const away = { roundTripMs: 100, inFlight: 300 };
const awayRows = 120_000;

export async function bench({
  quick,
  rows = quick ? 100_000 : 1_000_000,
}: {
  readonly quick: boolean;
  readonly rows: number | undefined;
}): Promise<void> {
  // measured as it is published: running from source, each thread carries a TypeScript parser
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../scripts/build.ts')]);
  await withBenchServer(async (server) => {
    await benchBroadcast(server, rows);
    await benchTwoSenders(server, Math.min(rows, awayRows));
    await server.withDatabase((database) => benchRegistrations(database, quick ? 1 : 5));
    await server.withDatabase((database) =>
      server.delayingCommits(10, () => benchCommits(database.url, quick ? 25 : 100)),
    );
  });
}

async function benchBroadcast(server: BenchServer, rows: number): Promise<void> {
  const senders = { senders: 2, threads: 1 };
  const sqlite = await measureBroadcast(rows, senders);
  const postgres = await server.withDatabase((database) => measureBroadcast(rows, { ...senders, database }));
  const cpu = ({ cpuMicroseconds }: MeasuredBroadcast): number => cpuMicroseconds / rows;
  const head = [
    'database',
    'seconds',
    'CPU µs/message',
    'times SQLite',
    'of PostgreSQL',
    'first message after',
    'memory, first half',
    'at its most',
  ];
  const line = (name: string, measured: MeasuredBroadcast): string[] => {
    const { residentMegabytes: megabytes, databaseCpuMicroseconds } = measured;
    const firstHalf = megabytes.slice(0, Math.ceil(megabytes.length / 2));
    return [
      name,
      measured.seconds.toFixed(1),
      cpu(measured).toFixed(1),
      (cpu(measured) / cpu(sqlite)).toFixed(2),
      databaseCpuMicroseconds === undefined ? '' : (databaseCpuMicroseconds / rows).toFixed(1),
      `${Math.round(measured.firstMs)} ms`,
      `${Math.max(...firstHalf).toFixed(0)} MB`,
      `${Math.max(...megabytes).toFixed(0)} MB`,
    ];
  };
  printTable(`A broadcast to ${rows.toLocaleString('en')} rows by two processes`, [
    head,
    line('SQLite', sqlite),
    line('PostgreSQL', postgres),
    [
      'goal',
      '',
      '',
      `≤ ${goals.timesSqlite}`,
      '',
      `≤ ${goals.firstMs} ms`,
      'the same',
      `< ${goals.megabytes} MB`,
    ],
  ]);
}

async function benchTwoSenders(server: BenchServer, rows: number): Promise<void> {
  const measure = (senders: number): Promise<MeasuredBroadcast> =>
    server.withDatabase((database) => measureBroadcast(rows, { senders, threads: 1, database, away }));
  const one = await measure(1);
  const two = await measure(2);
  const line = (name: string, { seconds }: MeasuredBroadcast): string[] => [
    name,
    seconds.toFixed(1),
    (rows / seconds).toFixed(0),
    (one.seconds / seconds).toFixed(2),
  ];
  const { roundTripMs, inFlight } = away;
  const title = `${rows.toLocaleString('en')} rows, ${inFlight} messages in flight of each sender, ${roundTripMs} ms away`;
  printTable(title, [
    ['senders', 'seconds', 'messages/s', 'times one'],
    line('1', one),
    line('2', two),
    ['goal', '', '', `≥ ${goals.timesOneSender}`],
  ]);
}
