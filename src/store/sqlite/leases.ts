// Leases in SQLite. A lease says which worker has a slice or retries, and until when.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BroadcastReader } from '../broadcast-reader.ts';
import {
  anyBroadcast,
  type Lease,
  type Leases,
  leasesPerTurn,
  lookForEndEveryMs,
  lookForWorkEveryMs,
  type RetryColumns,
  type RetryLease,
  type RetryRow,
  type SliceColumns,
  type SliceLease,
  toRetryRow,
  toSliceLease,
} from '../leases.ts';
import { membersOf } from '../slices.ts';
import type { IfRefused } from '../push-services.ts';
import { createPushServices } from './push-services.ts';
import { createPageReader } from './read-page.ts';
import { addRemoved, finishIfOver } from '../finish-broadcast.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import { runWork } from './portable-database.ts';
import type { SqliteDatabase } from './database.ts';

export function createSqliteLeases(
  database: SqliteDatabase,
  portable: PortableDatabase,
  reader: BroadcastReader,
): Leases {
  const recipients = createPageReader(database);
  const pushServices = createPushServices(database);
  let slicesLeased = 0;

  const addBroadcast = async <Taken extends Lease>(lease: Taken | undefined) =>
    lease && { ...lease, broadcast: await reader.getForWork(lease.broadcastId) };

  const leaseSlice = (leaseMs: number, only: number): Omit<SliceLease, 'broadcast'> | undefined => {
    const nowMs = database.now();
    for (;;) {
      const work = findWork(nowMs, only);
      if (work === undefined) return undefined;
      const { broadcast_id: broadcastId, from_slice: fromSlice } = work;
      const slice = database.first<SliceColumns>(selectFreeSlice, { broadcastId, fromSlice, nowMs });
      if (slice === undefined) {
        database.run(
          `update work set
             next_slice = null,
             slices_at_ms = (select min(lease_until_ms) from slices where broadcast_id = :broadcastId)
           where broadcast_id = :broadcastId`,
          { broadcastId },
        );
        continue;
      }
      const { number } = slice;
      const fenceToken = randomUUID();
      database.run(
        `update slices set token = :fenceToken, lease_until_ms = :untilMs
         where broadcast_id = :broadcastId and number = :number`,
        { broadcastId, number, fenceToken, untilMs: nowMs + leaseMs },
      );
      // `:fromSlice` is 0 if slices with lower numbers were given back
      database.run(
        `update work set
           next_slice = :number + 1,
           slices_at_ms = iif(:fromSlice > 0, slices_at_ms, (
             select min(lease_until_ms) from slices where broadcast_id = :broadcastId and number <= :number))
         where broadcast_id = :broadcastId and :number >= ifnull(next_slice, 0)`,
        { broadcastId, number, fromSlice },
      );
      slicesLeased += 1;
      return toSliceLease(slice, fenceToken);
    }
  };

  const findWork = (nowMs: number, broadcastId: number): WorkRow | undefined => {
    if (broadcastId !== anyBroadcast)
      return database.first<WorkRow>(
        `select broadcast_id, iif(slices_at_ms <= :nowMs, 0, next_slice) as from_slice from work
         where broadcast_id = :broadcastId and (slices_at_ms <= :nowMs or next_slice is not null)`,
        { broadcastId, nowMs },
      );
    const isHighFirst = (slicesLeased + 1) % leasesPerTurn > 0;
    for (const isHigh of [Number(isHighFirst), Number(!isHighFirst)]) {
      const found =
        database.first<WorkRow>(selectDueWork, { isHigh, nowMs }) ??
        database.first<WorkRow>(selectNextWork, { isHigh });
      if (found !== undefined) return found;
    }
    return undefined;
  };

  const decide = ({ refusals, refused_by: by, refused_since_ms: sinceMs }: DueRow): IfRefused =>
    by === null || sinceMs === null ? 'suspend' : pushServices.decide({ by, refusals, sinceMs });

  /** @param ifRefused what to do if probes are refused; absent for other retries, which are decided one by one */
  const take = (
    broadcastId: number,
    dues: readonly DueRow[],
    leaseMs: number,
    ifRefused: IfRefused | undefined,
  ): Omit<RetryLease, 'broadcast'> => {
    const lease = { broadcastId, fenceToken: randomUUID() };
    const untilMs = database.now() + leaseMs;
    const rows: RetryRow[] = [];
    let removed = 0;
    for (const due of dues) {
      const recipient = recipients.at(broadcastId, due.position);
      if (recipient === undefined) {
        database.run(dropRetry, { broadcastId, position: due.position });
        removed += 1 - due.is_outside;
        continue;
      }
      database.run(
        `update retries set token = :fenceToken, due_at_ms = :untilMs, push_service_id = null, draw_order = null
         where broadcast_id = :broadcastId and position = :position`,
        { ...lease, position: due.position, untilMs },
      );
      rows.push(toRetryRow(recipient, due, ifRefused ?? decide(due)));
    }
    runWork(database, addRemoved(broadcastId, removed));
    return { ...lease, rows, areProbes: ifRefused !== undefined };
  };

  const findDue = (limit: number, aheadMs: number, only: number) => {
    const nowMs = database.now();
    const probes = pushServices.drawProbes(only);
    if (probes !== undefined) {
      const { broadcastId, positions, ifRefused } = probes;
      const dues = positions.flatMap((position) =>
        database.all<DueRow>(selectRetry, { broadcastId, position }),
      );
      return { broadcastId, dues, ifRefused };
    }
    pushServices.release(only, limit);
    const untilMs = nowMs + aheadMs;
    let last: WithRetries = { broadcastId: 0, dueAtMs: Number.MIN_SAFE_INTEGER };
    for (;;) {
      const next: WithRetries | undefined =
        only === anyBroadcast
          ? database.first(selectWithRetries, { ...last, untilMs })
          : database.first(selectWithRetriesOf, { ...last, untilMs, only });
      if (next === undefined) return undefined;
      last = next;
      const { broadcastId } = next;
      const dues = database.all<DueRow>(selectDueRetries, { broadcastId, nowMs, untilMs, limit });
      if (dues.length > 0) return { broadcastId, dues, ifRefused: undefined };
      database.run(
        `update work set retries_at_ms = (select min(due_at_ms) from retries where broadcast_id = :broadcastId)
         where broadcast_id = :broadcastId`,
        { broadcastId },
      );
      runWork(database, finishIfOver(portable, broadcastId));
    }
  };

  const leaseRetries = (
    leaseMs: number,
    limit: number,
    aheadMs: number,
    only: number,
  ): Omit<RetryLease, 'broadcast'> | undefined => {
    for (;;) {
      const due = findDue(limit, aheadMs, only);
      if (due === undefined) return undefined;
      const lease = take(due.broadcastId, due.dues, leaseMs, due.ifRefused);
      if (lease.rows.length > 0) return lease;
      runWork(database, finishIfOver(portable, due.broadcastId));
    }
  };

  const nextDue = (only: number): number | undefined => {
    const times =
      only === anyBroadcast
        ? database.first<DueTimes>(selectDueTimes)
        : database.first<DueTimes>(
            `select iif(w.next_slice is null, w.slices_at_ms, 0) as slices_at_ms, w.retries_at_ms
             from work w join broadcasts b on b.id = w.broadcast_id
             where w.broadcast_id = :only and b.finished_at_ms is null`,
            { only },
          );
    if (only !== anyBroadcast && times === undefined) return undefined;
    const dueAtMs = [times?.slices_at_ms, times?.retries_at_ms, pushServices.nextDue(only)].filter(
      (ms) => typeof ms === 'number',
    );
    return dueAtMs.length === 0 ? undefined : Math.min(...dueAtMs);
  };

  return {
    leaseSlice: async ({ leaseMs, broadcastId = anyBroadcast }) =>
      addBroadcast(await database.write(() => leaseSlice(leaseMs, broadcastId))),

    leaseRetries: async ({ leaseMs, limit, aheadMs = 0, broadcastId = anyBroadcast }) =>
      addBroadcast(await database.write(() => leaseRetries(leaseMs, limit, aheadMs, broadcastId))),

    renew: ({ broadcastId, fenceToken, slice = null }, leaseMs) =>
      database.write(() => {
        const untilMs = database.now() + leaseMs;
        database.run(renewSlice, { broadcastId, fenceToken, slice, untilMs });
        database.run(renewRetries, { broadcastId, fenceToken, untilMs });
      }),

    release: ({ broadcastId, fenceToken, slice = null }) =>
      database.write(() => {
        database.run(dropCancelled, { broadcastId, fenceToken, slice });
        database.run(dropCancelledRetries, { broadcastId, fenceToken });
        database.run(releaseSlice, { broadcastId, fenceToken, slice });
        database.run(releaseRetries, { broadcastId, fenceToken, nowMs: database.now() });
        database.run(noteReleased, { broadcastId });
      }),

    waitForWork: async ({ broadcastId = anyBroadcast, signal }) => {
      const dueAtMs = await database.read(() => nextDue(broadcastId));
      if (dueAtMs === undefined && broadcastId !== anyBroadcast) return 'over';
      const delayMs = (dueAtMs ?? Number.POSITIVE_INFINITY) - database.now();
      if (delayMs <= 0) return 'ready';
      // SQLite does not report the writes of other processes, so poll
      const lookAgainMs = broadcastId === anyBroadcast ? lookForWorkEveryMs : lookForEndEveryMs;
      await sleep(Math.min(delayMs, lookAgainMs), undefined, { signal }).catch(() => {});
      return delayMs <= lookAgainMs && !signal.aborted ? 'ready' : 'idle';
    },
  };
}

interface DueRow extends RetryColumns {
  readonly position: number;
  readonly is_outside: number;
  readonly refused_by: number | null;
  readonly refused_since_ms: number | null;
}

/** A broadcast that may have free slices, from the slice `from_slice` on. */
interface WorkRow {
  readonly broadcast_id: number;
  readonly from_slice: number;
}

interface DueTimes {
  readonly slices_at_ms: number | null;
  readonly retries_at_ms: number | null;
}

// a broadcast with due retries. It is a type because an interface lacks the index signature that statement values need
type WithRetries = { readonly broadcastId: number; readonly dueAtMs: number };

// selects started broadcasts, and broadcasts with slices that a worker gave back or left behind when it died
const selectDueWork = `
  select broadcast_id, 0 as from_slice from work
  where is_high = :isHigh and slices_at_ms <= :nowMs
  order by slices_at_ms, broadcast_id limit 1`;

const selectNextWork = `
  select broadcast_id, next_slice as from_slice from work
  where is_high = :isHigh and next_slice is not null
  order by next_slice, broadcast_id limit 1`;

const selectFreeSlice = `
  select b.id as broadcast_id, s.number, s.cursor, s.through_position, ${membersOf("x''")} as ids, a.language, a.time_zone
  from broadcasts b join slices s on s.broadcast_id = b.id
  left join audience_sets a on a.audience_id = b.audience_id and a.number = s.number
  where b.id = :broadcastId and s.number >= :fromSlice and s.lease_until_ms <= :nowMs
  order by s.number limit 1`;

const selectDueTimes = `
  select min(at_ms) as slices_at_ms, (select min(retries_at_ms) from work) as retries_at_ms from (
    select 0 as at_ms where exists (select 1 from work where is_high = 0 and next_slice is not null)
      or exists (select 1 from work where is_high = 1 and next_slice is not null)
    union all select min(slices_at_ms) from work where is_high = 0
    union all select min(slices_at_ms) from work where is_high = 1)`;

const withRetries = `
  select broadcast_id as broadcastId, retries_at_ms as dueAtMs from work
  where (retries_at_ms, broadcast_id) > (:dueAtMs, :broadcastId) and retries_at_ms <= :untilMs`;
const selectWithRetries = `${withRetries} order by retries_at_ms, broadcast_id limit 1`;
const selectWithRetriesOf = `${withRetries} and broadcast_id = :only`;

const retriesOf = `
  select position, attempts, deferrals, expires_at_ms, refusals, refused_by, refused_since_ms, doubts,
    is_outside, language, time_zone
  from retries where broadcast_id = :broadcastId`;
const selectRetry = `${retriesOf} and position = :position`;
const selectDueRetries = `${retriesOf} and due_at_ms <= :untilMs
    and (due_at_ms <= :nowMs or ((attempts = 0 or deferrals > 0) and token is null and push_service_id is null))
  order by due_at_ms limit :limit`;

export const dropRetry = 'delete from retries where broadcast_id = :broadcastId and position = :position';

const isHeldSlice = 'broadcast_id = :broadcastId and number = :slice and token = :fenceToken';
// The subquery uses the index of tokens. Without the subquery, SQLite would read all retries of the broadcast for an
// update.
const areHeldRetries = `broadcast_id = :broadcastId and position in (
  select position from retries where broadcast_id = :broadcastId and token = :fenceToken)`;
const isCancelled = "exists (select 1 from broadcasts where id = :broadcastId and state = 'cancelled')";

const renewSlice = `update slices set lease_until_ms = :untilMs where ${isHeldSlice}`;
const renewRetries = `update retries set due_at_ms = :untilMs where ${areHeldRetries}`;
const releaseSlice = `update slices set token = null, lease_until_ms = 0 where ${isHeldSlice}`;
const releaseRetries = `update retries set token = null, due_at_ms = :nowMs where ${areHeldRetries}`;
const noteReleased = 'update work set slices_at_ms = 0, retries_at_ms = 0 where broadcast_id = :broadcastId';
const dropCancelled = `delete from slices where ${isHeldSlice} and ${isCancelled}`;
const dropCancelledRetries = `delete from retries where ${areHeldRetries} and ${isCancelled}`;
