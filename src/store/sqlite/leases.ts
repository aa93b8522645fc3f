// Work in SQLite: who has leased which slice and which retries, and until when.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BroadcastReader } from '../broadcast-reader.ts';
import type { IfRefused } from '../push-services.ts';
import type { Lease, RetryLease, RetryRow, SliceLease, Leases } from '../leases.ts';
import { createBroadcastFinisher } from './finish-broadcast.ts';
import { anyBroadcast, createPushServices } from './push-services.ts';
import { createPageReader } from './read-page.ts';
import type { SqliteDatabase } from './database.ts';

/** SQLite does not notify of another process's writes, so they are polled for. */
const lookForWorkEveryMs = 250;
/** Whoever waits for the end of one broadcast, which another worker may bring about, looks more often. */
const lookForEndEveryMs = 50;

export function createSqliteLeases(database: SqliteDatabase, reader: BroadcastReader): Leases {
  const statements = prepareStatements(database);
  const recipients = createPageReader(database);
  const finish = createBroadcastFinisher(database);
  const pushServices = createPushServices(database);

  const addBroadcast = async <Taken extends Lease>(lease: Taken | undefined) =>
    lease && { ...lease, broadcast: await reader.get(lease.broadcastId) };

  const leaseSlice = (leaseMs: number, broadcastId: number): Omit<SliceLease, 'broadcast'> | undefined => {
    const nowMs = database.now();
    finish.overdue(nowMs);
    const slice = statements.findFreeSlice.first({ nowMs, broadcastId });
    if (slice === undefined) return undefined;
    const lease = { broadcastId: slice.broadcast_id, fenceToken: randomUUID() };
    statements.takeSlice.run({ ...lease, number: slice.number, untilMs: nowMs + leaseMs });
    return {
      ...lease,
      slice: slice.number,
      cursor: slice.cursor,
      throughPosition: slice.through_position,
    };
  };

  const decide = ({ refusals, refused_by: by, refused_since_ms: sinceMs }: DueRow): IfRefused =>
    by === null || sinceMs === null ? 'suspend' : pushServices.decide({ by, refusals, sinceMs });

  /** @param ifRefused of probes */
  const take = (
    broadcastId: number,
    dues: readonly DueRow[],
    leaseMs: number,
    ifRefused: IfRefused | undefined,
  ): Omit<RetryLease, 'broadcast'> => {
    const lease = { broadcastId, fenceToken: randomUUID() };
    const untilMs = database.now() + leaseMs;
    const rows: RetryRow[] = [];
    for (const due of dues) {
      const recipient = recipients.at(broadcastId, due.position);
      if (recipient === undefined) {
        statements.dropRetry.run({ broadcastId, position: due.position });
        continue;
      }
      statements.takeRetry.run({ ...lease, position: due.position, untilMs });
      rows.push({
        ...recipient,
        attempts: due.attempts,
        deferrals: due.deferrals,
        expiresAtMs: due.expires_at_ms,
        refusals: due.refusals,
        ifRefused: ifRefused ?? decide(due),
      });
    }
    return { ...lease, rows, areProbes: ifRefused !== undefined };
  };

  const findDue = (
    limit: number,
    only: number,
  ):
    | {
        readonly broadcastId: number;
        readonly dues: readonly DueRow[];
        readonly ifRefused: IfRefused | undefined;
      }
    | undefined => {
    const nowMs = database.now();
    const probes = pushServices.drawProbes(only);
    if (probes !== undefined) {
      const { broadcastId, positions, ifRefused } = probes;
      const dues = positions.flatMap((position) => statements.retryAt.all({ broadcastId, position }));
      return { broadcastId, dues, ifRefused };
    }
    pushServices.release(only, limit);
    const broadcastId = statements.findDue.first({ nowMs, broadcastId: only })?.broadcast_id;
    if (broadcastId === undefined) return undefined;
    const dues = statements.dueRetries.all({ broadcastId, nowMs, limit });
    return { broadcastId, dues, ifRefused: undefined };
  };

  const leaseRetries = (
    leaseMs: number,
    limit: number,
    only: number,
  ): Omit<RetryLease, 'broadcast'> | undefined => {
    for (;;) {
      const due = findDue(limit, only);
      if (due === undefined) return undefined;
      const lease = take(due.broadcastId, due.dues, leaseMs, due.ifRefused);
      if (lease.rows.length > 0) return lease;
      finish.ifOver(due.broadcastId, database.now());
    }
  };

  return {
    leaseSlice: async ({ leaseMs, broadcastId = anyBroadcast }) =>
      addBroadcast(await database.write(() => leaseSlice(leaseMs, broadcastId))),

    leaseRetries: async ({ leaseMs, limit, broadcastId = anyBroadcast }) =>
      addBroadcast(await database.write(() => leaseRetries(leaseMs, limit, broadcastId))),

    renew: ({ broadcastId, fenceToken }, leaseMs) =>
      database.write(() => {
        const untilMs = database.now() + leaseMs;
        statements.renewSlice.run({ broadcastId, fenceToken, untilMs });
        statements.renewRetries.run({ broadcastId, fenceToken, untilMs });
      }),

    release: ({ broadcastId, fenceToken }) =>
      database.write(() => {
        statements.releaseSlice.run({ broadcastId, fenceToken });
        statements.releaseRetries.run({ broadcastId, fenceToken, nowMs: database.now() });
      }),

    waitForWork: async ({ broadcastId = anyBroadcast, signal }) => {
      const dueAtMs = await database.read(() => statements.nextDue.first({ broadcastId })?.due_at_ms);
      if (typeof dueAtMs !== 'number' && broadcastId !== anyBroadcast) return 'over';
      const delayMs = (dueAtMs ?? Number.POSITIVE_INFINITY) - database.now();
      if (delayMs <= 0) return 'ready';
      const lookAgainMs = broadcastId === anyBroadcast ? lookForWorkEveryMs : lookForEndEveryMs;
      await sleep(Math.min(delayMs, lookAgainMs), undefined, { signal }).catch(() => {});
      return delayMs <= lookAgainMs && !signal.aborted ? 'ready' : 'idle';
    },
  };
}

interface DueRow {
  readonly position: number;
  readonly attempts: number;
  readonly deferrals: number;
  readonly expires_at_ms: number;
  readonly refusals: number;
  readonly refused_by: number | null;
  readonly refused_since_ms: number | null;
}

function prepareStatements(database: SqliteDatabase) {
  const isAsked = `(:broadcastId = ${anyBroadcast} or b.id = :broadcastId)`;

  return {
    // by number first: a small broadcast does not wait for a large one that began earlier
    findFreeSlice: database.prepare<
      { nowMs: number; broadcastId: number },
      { broadcast_id: number; number: number; cursor: number; through_position: number }
    >(`
        select s.broadcast_id, s.number, s.cursor, s.through_position
        from broadcasts b join slices s on s.broadcast_id = b.id
        where b.state = 'running' and b.start_at_ms <= :nowMs and s.lease_until_ms <= :nowMs
          and ${isAsked}
        order by s.number, s.broadcast_id
        limit 1
      `),
    takeSlice: database.prepare<{
      broadcastId: number;
      number: number;
      fenceToken: string;
      untilMs: number;
    }>(`
        update slices set token = :fenceToken, lease_until_ms = :untilMs
        where broadcast_id = :broadcastId and number = :number
      `),
    findDue: database.prepare<{ nowMs: number; broadcastId: number }, { broadcast_id: number }>(`
        select b.id as broadcast_id,
               (select min(due_at_ms) from retries r where r.broadcast_id = b.id) as due_at_ms
        from broadcasts b
        where b.state = 'running' and b.start_at_ms <= :nowMs and due_at_ms <= :nowMs and ${isAsked}
        order by due_at_ms
        limit 1
      `),
    dueRetries: database.prepare<{ broadcastId: number; nowMs: number; limit: number }, DueRow>(`
        select position, attempts, deferrals, expires_at_ms, refusals, refused_by, refused_since_ms
        from retries
        where broadcast_id = :broadcastId and due_at_ms <= :nowMs
        order by due_at_ms
        limit :limit
      `),
    retryAt: database.prepare<{ broadcastId: number; position: number }, DueRow>(`
        select position, attempts, deferrals, expires_at_ms, refusals, refused_by, refused_since_ms
        from retries
        where broadcast_id = :broadcastId and position = :position
      `),
    takeRetry: database.prepare<{
      broadcastId: number;
      position: number;
      fenceToken: string;
      untilMs: number;
    }>(`
        update retries set token = :fenceToken, due_at_ms = :untilMs, push_service_id = null, draw_order = null
        where broadcast_id = :broadcastId and position = :position
      `),
    dropRetry: database.prepare<{ broadcastId: number; position: number }>(
      'delete from retries where broadcast_id = :broadcastId and position = :position',
    ),
    renewSlice: database.prepare<{ broadcastId: number; fenceToken: string; untilMs: number }>(
      'update slices set lease_until_ms = :untilMs where broadcast_id = :broadcastId and token = :fenceToken',
    ),
    renewRetries: database.prepare<{ broadcastId: number; fenceToken: string; untilMs: number }>(
      'update retries set due_at_ms = :untilMs where broadcast_id = :broadcastId and token = :fenceToken',
    ),
    releaseSlice: database.prepare<{ broadcastId: number; fenceToken: string }>(`
        update slices set token = null, lease_until_ms = 0
        where broadcast_id = :broadcastId and token = :fenceToken
      `),
    releaseRetries: database.prepare<{ broadcastId: number; fenceToken: string; nowMs: number }>(`
        update retries set token = null, due_at_ms = :nowMs
        where broadcast_id = :broadcastId and token = :fenceToken
      `),
    nextDue: database.prepare<{ broadcastId: number }, { due_at_ms: number | null }>(`
        select min(due_at_ms) as due_at_ms from (
          select max(b.start_at_ms, (select min(s.lease_until_ms) from slices s where s.broadcast_id = b.id))
                 as due_at_ms
          from broadcasts b where b.state = 'running' and ${isAsked}
          union all
          select max(b.start_at_ms, (select min(r.due_at_ms) from retries r where r.broadcast_id = b.id))
          from broadcasts b where b.state = 'running' and ${isAsked}
          union all
          select max(b.start_at_ms, iif(p.held_since_ms is null, 0, p.probe_at_ms))
          from broadcasts b cross join push_services p
          where b.state = 'running' and ${isAsked}
            and exists (select 1 from retries r where r.broadcast_id = b.id and r.push_service_id = p.id)
        )
      `),
  };
}
