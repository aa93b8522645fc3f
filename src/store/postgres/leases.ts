// Leases in PostgreSQL. A lease says which worker has a slice or retries, and until when. Leases are rows that change
// in the same transaction as counts and cursors. Rows that other workers are leasing are skipped.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BroadcastReader } from '../broadcast-reader.ts';
import { decideRefusal, type IfRefused } from '../push-services.ts';
import {
  anyBroadcast,
  leasesPerTurn,
  lookForEndEveryMs,
  lookForWorkEveryMs,
  type Leases,
  type RetryColumns,
  type SliceColumns,
  toRetryRow,
  toSliceLease,
} from '../leases.ts';
import { finishIfOver } from '../finish-broadcast.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import type { PostgresDatabase } from './database.ts';
import { createPageReader, type RecipientRow } from './read-page.ts';
import type { Notices } from './work-notices.ts';

/** How often to look for work while notices arrive. No notice tells when other workers' leases end. */
const lookWhileHearingEveryMs = 2000;

interface LeasedRetry extends RecipientRow, RetryColumns {
  readonly broadcast_id: number;
  readonly are_probes: boolean;
  /** Null if nothing is known about refusals. Then the next columns are null too. */
  readonly waited_ms: number | null;
  readonly others_accepted: boolean | null;
  readonly only_strangers: boolean | null;
  readonly is_key_good: boolean | null;
}

/** Decides what to do after a further refusal. Refusals during a suspension are about the push service, not the row. */
const decide = (row: LeasedRetry): IfRefused =>
  row.waited_ms === null || row.others_accepted === null
    ? 'suspend'
    : decideRefusal({
        refusals: row.are_probes ? 0 : row.refusals,
        waitedMs: row.waited_ms,
        othersAccepted: row.others_accepted,
        onlyNeverAccepted: row.only_strangers === true,
        isKeyGood: row.is_key_good === true,
      });

export function createPostgresLeases(
  database: PostgresDatabase,
  portable: PortableDatabase,
  notices: Omit<Notices, 'close'>,
  reader: BroadcastReader,
): Leases {
  const recipients = createPageReader(database);
  let slicesLeased = 0;

  const lookAgainAfter = (broadcastId: number): number => {
    // if the caller supplies the clock, work may become due when that clock jumps, without a notice
    if (notices.isHearing && database.now() === null) return lookWhileHearingEveryMs;
    return broadcastId === anyBroadcast ? lookForWorkEveryMs : lookForEndEveryMs;
  };

  return {
    leaseSlice: async ({ leaseMs, broadcastId = anyBroadcast }) => {
      const fenceToken = randomUUID();
      const [slice] = await database.call<SliceColumns>('lease_slice', [
        database.now(),
        leaseMs,
        fenceToken,
        broadcastId,
        (slicesLeased + 1) % leasesPerTurn > 0,
      ]);
      if (slice === undefined) return undefined;
      slicesLeased += 1;
      return {
        ...toSliceLease(slice, fenceToken),
        broadcast: await reader.getForWork(slice.broadcast_id),
      };
    },

    leaseRetries: async ({ leaseMs, limit, aheadMs = 0, broadcastId = anyBroadcast }) => {
      const fenceToken = randomUUID();
      const values = [database.now(), leaseMs, fenceToken, limit, broadcastId, aheadMs];
      const found = await database.call<LeasedRetry>('lease_retries', values);
      const { rows = [], over = [] } = Object.groupBy(found, ({ position }) =>
        position === null ? 'over' : 'rows',
      );
      // nothing is left to send in these broadcasts: their last workers died before ending them, or rows were removed
      for (const { broadcast_id: id } of over) await portable.background(() => finishIfOver(portable, id));
      const [first] = rows;
      if (first === undefined) return undefined;
      const read = await recipients.of(rows);
      return {
        broadcastId: first.broadcast_id,
        fenceToken,
        broadcast: await reader.getForWork(first.broadcast_id),
        areProbes: first.are_probes,
        rows: read.map(({ row, ...recipient }) => toRetryRow(recipient, row, decide(row))),
      };
    },

    renew: async ({ broadcastId, fenceToken, slice }, leaseMs) => {
      await database.call('renew', [database.now(), leaseMs, broadcastId, fenceToken, slice ?? null]);
    },

    release: async ({ broadcastId, fenceToken, slice }) => {
      await database.call('release', [database.now(), broadcastId, fenceToken, slice ?? null]);
    },

    waitForWork: async ({ broadcastId = anyBroadcast, signal }) => {
      const told = new AbortController();
      // listen first, then look, so that no notice is missed
      const endListening = notices.listen(() => told.abort());
      try {
        const values = [database.now(), broadcastId];
        const [due] = await database.call<{ readonly result: number | null }>('due_in', values);
        const dueInMs = due?.result ?? undefined;
        if (dueInMs === undefined && broadcastId !== anyBroadcast) return 'over';
        const delayMs = dueInMs ?? Number.POSITIVE_INFINITY;
        if (delayMs <= 0) return 'ready';
        const waitMs = Math.min(delayMs, lookAgainAfter(broadcastId));
        await sleep(waitMs, undefined, { signal: AbortSignal.any([signal, told.signal]) }).catch(() => {});
        const mayBeReady = told.signal.aborted || delayMs === waitMs;
        return mayBeReady && !signal.aborted ? 'ready' : 'idle';
      } finally {
        endListening();
      }
    },
  };
}
