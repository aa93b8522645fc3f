// One broadcast to so many rows, sent by processes of their own from dist/, and checked at the push service: everybody
// got the message exactly once.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { residentMegabytesOf } from '../measure/process-usage.ts';
import { startNginxSink } from './nginx-sink.ts';
import { numberOfPath, seedSubscriptions } from './seed.ts';
import type { SendingOrder, SendingReport } from './sending-process.ts';

/** A database that is no file in the data directory. */
export interface DatabaseServer {
  readonly url: string;
  /** Does what is left to do after many rows were written. */
  settle(): Promise<void>;
  /** Processor time of all of its processes since it started. */
  cpuSeconds(): Promise<number>;
}

export interface BroadcastSetup {
  /** Sending processes. Default: 1. */
  readonly senders?: number | undefined;
  /** Of each. Default: 2. */
  readonly threads?: number | undefined;
  /** Default: SQLite. */
  readonly database?: DatabaseServer | undefined;
  /** Push service far away, and how many messages each sender has in flight at most. Default: near, any number. */
  readonly away?: { readonly roundTripMs: number; readonly inFlight: number } | undefined;
}

export interface MeasuredBroadcast {
  readonly rows: number;
  readonly seconds: number;
  /** Of all senders. */
  readonly cpuMicroseconds: number;
  /** Of the database's server, where there is one, while it was sent. */
  readonly databaseCpuMicroseconds: number | undefined;
  /** From the start of the processes on. */
  readonly firstMs: number;
  /** Over time, of the sender that had the most at a time. */
  readonly residentMegabytes: readonly number[];
}

/** @throws {Error} where a process fails, or somebody did not get the message exactly once */
export async function measureBroadcast(rows: number, setup: BroadcastSetup = {}): Promise<MeasuredBroadcast> {
  const { senders = 1, threads = 2, database, away } = setup;
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-broadcast-'));
  const program = await compileSendingProcess();
  const sink = await startNginxSink();
  const relay = away && (await startRelay(sink.origin, away.roundTripMs));
  const origin = relay?.origin ?? sink.origin;
  try {
    await seedSubscriptions(directory, origin, rows, database?.url);
    await database?.settle();
    const databaseSecondsBefore = await database?.cpuSeconds();
    const startedAtMs = Date.now();
    const sent = await Promise.all(
      Array.from({ length: senders }, async () =>
        send(program, {
          directory,
          database: database?.url,
          origin,
          caFile: sink.caFile,
          threads,
          inFlight: away?.inFlight,
        }),
      ),
    );
    const databaseSeconds = await database?.cpuSeconds();

    const received = new Uint8Array(rows);
    let firstAtMs = Number.POSITIVE_INFINITY;
    for await (const { atMs, path } of sink.readLog()) {
      firstAtMs = Math.min(firstAtMs, atMs);
      const index = numberOfPath(path);
      received[index] = (received[index] ?? 0) + 1;
    }
    const wrong = received.filter((count) => count !== 1).length;
    if (wrong > 0) throw new Error(`${wrong} of ${rows} subscribers did not get the message exactly once.`);
    const endedAtMs = Math.max(...sent.map(({ report }) => report.endedAtMs));
    const createdAtMs = Math.min(...sent.map(({ report }) => report.createdAtMs));
    const peakOf = (sender: Sent): number => Math.max(...sender.residentMegabytes);
    return {
      rows,
      seconds: (endedAtMs - createdAtMs) / 1000,
      cpuMicroseconds: sent.reduce((sum, { report: { cpu } }) => sum + cpu.user + cpu.system, 0),
      databaseCpuMicroseconds:
        databaseSeconds === undefined || databaseSecondsBefore === undefined
          ? undefined
          : (databaseSeconds - databaseSecondsBefore) * 1e6,
      firstMs: firstAtMs - startedAtMs,
      residentMegabytes: sent.reduce((most, each) => (peakOf(each) > peakOf(most) ? each : most))
        .residentMegabytes,
    };
  } finally {
    relay?.process.kill();
    await sink.remove();
    await rm(directory, { recursive: true });
  }
}

/** @returns where it passes on to `origin`, and the process to be killed */
async function startRelay(origin: string, roundTripMs: number) {
  const program = join(import.meta.dirname, '../send/delay.ts');
  const relay = fork(program, [new URL(origin).port, String(roundTripMs)]);
  const [port] = (await once(relay, 'message')) as [number];
  return { process: relay, origin: `https://127.0.0.1:${port}` };
}

interface Sent {
  readonly report: SendingReport;
  readonly residentMegabytes: readonly number[];
}

async function send(program: string, order: SendingOrder): Promise<Sent> {
  const child = spawn(process.execPath, [program, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const residentMegabytes: number[] = [];
  let last = '';
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    const megabytes = await residentMegabytesOf(child.pid ?? 0);
    if (megabytes !== undefined) residentMegabytes.push(megabytes);
  }
  const [code] = await exited;
  if (code !== 0) throw new Error(`A sending process ended with code ${code}.`);
  return { report: JSON.parse(last) as SendingReport, residentMegabytes };
}

/** Without types, so that the first message does not wait for a TypeScript parser. @returns the program's path */
async function compileSendingProcess(): Promise<string> {
  const folder = join(import.meta.dirname, '../../build/bench');
  await build({
    entryPoints: [join(import.meta.dirname, 'sending-process.ts')],
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    // for types, the package's own name leads to src/
    tsconfigRaw: {},
  });
  return join(folder, 'sending-process.js');
}
