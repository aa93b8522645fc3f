// One message to a million subscribers from the SQLite store, end to end with commits: does it finish, what does a
// message cost next to a run over a hundred thousand, does memory stay flat, when does the first message go out. nginx
// is the push service; it shares the processors.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startNginxSink } from './broadcast/nginx-sink.ts';
import { numberOfPath, seedSubscriptions } from './broadcast/seed.ts';
import { residentMegabytesOf } from './measure/process-usage.ts';
import { printTable } from './measure/table.ts';

const threads = 2;
const audiences = [100_000, 1_000_000];
const quickAudiences = [20_000, 100_000];

interface Measured {
  readonly rows: number;
  readonly seconds: number;
  readonly cpuMicroseconds: number;
  readonly firstMs: number;
  readonly residentMegabytes: readonly number[];
}

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  // measured as it is published: running from source, each thread carries a TypeScript parser
  const builder = spawn(process.execPath, [fileURLToPath(new URL('../scripts/build.ts', import.meta.url))], {
    stdio: 'inherit',
  });
  await once(builder, 'exit');
  const runs: Measured[] = [];
  for (const rows of quick ? quickAudiences : audiences) runs.push(await measure(rows));
  printTable('One broadcast from the store, end to end', [
    [
      'audience',
      'seconds',
      'messages/s',
      'CPU µs/message',
      'first message after',
      'memory at its most',
      'at the end',
    ],
    ...runs.map(({ rows, seconds, cpuMicroseconds, firstMs, residentMegabytes }) => [
      rows.toLocaleString('en'),
      seconds.toFixed(1),
      Math.round(rows / seconds).toLocaleString('en'),
      (cpuMicroseconds / rows).toFixed(1),
      `${Math.round(firstMs)} ms`,
      `${Math.max(...residentMegabytes).toFixed(0)} MB`,
      `${residentMegabytes.at(-1)?.toFixed(0) ?? '–'} MB`,
    ]),
  ]);
}

async function measure(rows: number): Promise<Measured> {
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-million-'));
  const sink = await startNginxSink();
  try {
    await seedSubscriptions(directory, sink.origin, rows);
    const startedAtMs = Date.now();
    const child = spawn(
      process.execPath,
      [
        fileURLToPath(new URL('broadcast/sending-process.ts', import.meta.url)),
        directory,
        sink.origin,
        sink.caFile,
        String(threads),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const residentMegabytes: number[] = [];
    let last: { readonly counts: object; readonly createdAtMs: number; readonly endedAtMs: number } & {
      readonly cpu: NodeJS.CpuUsage;
    } = { counts: {}, createdAtMs: 0, endedAtMs: 0, cpu: { user: 0, system: 0 } };
    for await (const line of createInterface({ input: child.stdout })) {
      last = JSON.parse(line) as typeof last;
      const megabytes = await residentMegabytesOf(child.pid ?? 0);
      if (megabytes !== undefined) residentMegabytes.push(megabytes);
    }
    if (child.exitCode === null) await once(child, 'exit');
    if (child.exitCode !== 0) throw new Error(`The sending process ended with code ${child.exitCode}.`);

    const received = new Uint8Array(rows);
    let firstAtMs = Number.POSITIVE_INFINITY;
    for await (const { atMs, path } of sink.readLog()) {
      firstAtMs = Math.min(firstAtMs, atMs);
      const index = numberOfPath(path);
      received[index] = (received[index] ?? 0) + 1;
    }
    const wrong = received.filter((count) => count !== 1).length;
    if (wrong > 0) throw new Error(`${wrong} of ${rows} subscribers did not get the message exactly once.`);
    return {
      rows,
      seconds: (last.endedAtMs - last.createdAtMs) / 1000,
      cpuMicroseconds: last.cpu.user + last.cpu.system,
      firstMs: firstAtMs - startedAtMs,
      residentMegabytes,
    };
  } finally {
    await sink.remove();
    await rm(directory, { recursive: true });
  }
}
