// A worker that commits page after page of a broadcast at a steady pace, without sending anything.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../src/store/store.ts';
import { spreadOf } from '../measure/statistics.ts';

export const pageRows = 1024;
const leaseMs = 60_000;

/** @returns the median of the milliseconds that a commit took */
export async function commitPages(
  { broadcasts, leases, ledger }: Store,
  origin: string,
  { count, perSecond }: { readonly count: number; readonly perSecond: number },
): Promise<number> {
  const { broadcast } = await broadcasts.create({
    payload: new Uint8Array(1),
    ttlSeconds: 3600,
    urgency: 'normal',
    contentHash: new Uint8Array(32),
    startAtMs: Date.now(),
    expiresAtMs: Date.now() + 3_600_000,
    sliceRows: pageRows,
  });
  const tookMs: number[] = [];
  while (tookMs.length < count) {
    const lease = await leases.leaseSlice({ leaseMs, broadcastId: broadcast.id });
    if (lease === undefined) break;
    const { broadcastId, fenceToken, slice: number, cursor: fromCursor, throughPosition: cursor } = lease;
    const rows = await ledger.readRows(lease, fromCursor, pageRows);
    const startedAt = performance.now();
    await ledger.commit({
      broadcastId,
      fenceToken,
      leaseMs,
      slice: { number, fromCursor, cursor },
      rows: rows.map((recipient) => ({ recipient, origin, attempts: 1, result: 'accepted' })),
    });
    tookMs.push(performance.now() - startedAt);
    await sleep(1000 / perSecond);
  }
  await broadcasts.cancel(broadcast.id);
  return spreadOf(tookMs).median;
}
