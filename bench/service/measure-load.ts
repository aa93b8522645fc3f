// What a server does under load, and what that costs it.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpuSecondsOf } from '../measure/process-usage.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import type { Server } from './servers.ts';

export interface MeasuredLoad {
  readonly requests: number;
  readonly perSecond: number;
  /** Of the server, per request; all threads. */
  readonly cpuMicroseconds: number;
  readonly p99Ms: number;
}

/** @param generator a process of `load.ts` */
export async function measureLoad(
  generator: ChildProcess,
  { pid, port }: Server,
  order: Omit<LoadOrder, 'port'>,
): Promise<MeasuredLoad> {
  const cpuBefore = await cpuSecondsOf(pid);
  generator.send({ ...order, port });
  const [{ requests, elapsedMs, p99Ms }] = (await once(generator, 'message')) as [LoadResult];
  const cpuAfter = await cpuSecondsOf(pid);
  const cpuSeconds = cpuBefore === undefined || cpuAfter === undefined ? Number.NaN : cpuAfter - cpuBefore;
  const perSecond = (requests / elapsedMs) * 1000;
  return { requests, perSecond, cpuMicroseconds: (cpuSeconds * 1e6) / requests, p99Ms };
}
