// One broadcast to so many rows, sent by a process of its own from dist/, and checked at the push service: everybody
// got the message exactly once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { residentMegabytesOf } from '../measure/process-usage.ts';
import { startNginxSink } from './nginx-sink.ts';
import { numberOfPath, seedSubscriptions } from './seed.ts';

const threads = 2;

/** `receipts`: each row has a payload of its own. `metrics`: they are read once a second. */
export const broadcastOptions = ['plain', 'receipts', 'metrics'] as const;
export type BroadcastOption = (typeof broadcastOptions)[number];

export interface MeasuredBroadcast {
  readonly rows: number;
  readonly seconds: number;
  readonly cpuMicroseconds: number;
  readonly firstMs: number;
  readonly residentMegabytes: readonly number[];
}

/**
 * @param option what the broadcast has beside its message
 * @throws {Error} where the process fails, or somebody did not get the message exactly once
 */
export async function measureBroadcast(
  rows: number,
  option: BroadcastOption = 'plain',
): Promise<MeasuredBroadcast> {
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-million-'));
  const sink = await startNginxSink();
  try {
    await seedSubscriptions(directory, sink.origin, rows);
    const startedAtMs = Date.now();
    const child = spawn(
      process.execPath,
      [
        fileURLToPath(new URL('sending-process.ts', import.meta.url)),
        directory,
        sink.origin,
        sink.caFile,
        String(threads),
        option,
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
