// A fresh process that posts with one client, after a warm-up, and tells its parent what that cost.
import { once } from 'node:events';
import { clients, type Client, type Order } from './clients.ts';

export interface Cost {
  readonly cpuMicroseconds: number;
  readonly perSecond: number;
  /** Share of the time that the thread had something to do: 1 where it never waited for answers. */
  readonly busyShare: number;
  readonly megabytes: number;
  /** Requests that were answered with anything but 201, or not at all. */
  readonly failed: number;
}

const paths = Array.from(
  { length: 1000 },
  (_, index) => `/wpush/v2/${String(index).padStart(6, '0')}${'gAAAAAB'.repeat(24)}`,
);

const [order] = (await once(process, 'message')) as [Order];
const client = await clients[order.client](order);
await post(client, order, order.requests / 4);
const cpu = process.cpuUsage();
const loop = performance.eventLoopUtilization();
const startedMs = performance.now();
const failed = await post(client, order, order.requests);
const seconds = (performance.now() - startedMs) / 1000;
const { user, system } = process.cpuUsage(cpu);
const cost: Cost = {
  cpuMicroseconds: (user + system) / order.requests,
  perSecond: order.requests / seconds,
  busyShare: performance.eventLoopUtilization(loop).utilization,
  megabytes: process.memoryUsage.rss() / 1e6,
  failed,
};
process.send?.(cost);
await client.close();
process.disconnect?.();

function post(poster: Client, { inHand, workMicroseconds }: Order, requests: number): Promise<number> {
  return new Promise((resolve) => {
    let begun = 0;
    let ended = 0;
    let bad = 0;
    const next = (): void => {
      if (begun >= requests) return;
      begun += 1;
      work(workMicroseconds);
      poster.post(paths[begun % paths.length] as string, (status) => {
        ended += 1;
        if (status !== 201) bad += 1;
        if (ended >= requests) resolve(bad);
        else next();
      });
    };
    for (let count = 0; count < inHand; count += 1) next();
  });
}

function work(microseconds: number): void {
  const untilMs = performance.now() + microseconds / 1000;
  while (performance.now() < untilMs);
}
