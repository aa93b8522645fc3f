// The work of broadcasts in SQLite: who holds which slice and which retries, and until when.
import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Broadcast, DeliveryQueue, RetryClaim, RetryRow, SliceLease } from '../broadcast-store.ts';
import { createBroadcastReader } from './broadcast-reader.ts';
import { createFinish } from './finish-broadcast.ts';
import type { GroupCommit } from './group-commit.ts';
import { createPageCommit } from './page-commit.ts';
import type { Read } from './read.ts';
import { createRecipients } from './recipients.ts';
import { parameter, prepare, queries, written } from './statement.ts';

/** Stands for "any broadcast" in the statements below. */
const anyBroadcast = 0;

export function createSqliteQueue(
  database: DatabaseSync,
  commits: GroupCommit,
  read: Read,
  now: () => number,
): DeliveryQueue {
  const statements = prepareStatements(database);
  const reader = createBroadcastReader(database);
  const recipients = createRecipients(database);
  const finish = createFinish(database);
  const commitPage = createPageCommit(database, now);

  const present = (id: number): Broadcast => {
    const broadcast = reader.find(id);
    if (broadcast === undefined) throw new Error(`Broadcast ${id} has work and does not exist.`);
    return broadcast;
  };

  const leaseSlice = (leaseMs: number, broadcastId: number): SliceLease | undefined => {
    const nowMs = now();
    finish.overdue(nowMs);
    const slice = statements.findFreeSlice.first({ nowMs, broadcastId });
    if (slice === undefined) return undefined;
    const lease = { broadcastId: slice.broadcast_id, token: randomUUID() };
    statements.takeSlice.run({ ...lease, number: slice.number, untilMs: nowMs + leaseMs });
    return {
      ...lease,
      broadcast: present(slice.broadcast_id),
      slice: slice.number,
      cursor: slice.cursor,
      throughPosition: slice.through_position,
    };
  };

  const claimRetries = (leaseMs: number, limit: number, only: number): RetryClaim | undefined => {
    const nowMs = now();
    for (;;) {
      const broadcastId = statements.findDue.first({ nowMs, broadcastId: only })?.broadcast_id;
      if (broadcastId === undefined) return undefined;
      const broadcast = present(broadcastId);
      const held = { broadcastId, token: randomUUID() };
      const rows: RetryRow[] = [];
      for (const due of statements.dueRetries.all({ broadcastId, nowMs, limit })) {
        const recipient = recipients.at(broadcast.id, due.position);
        if (recipient === undefined) {
          statements.dropRetry.run({ broadcastId, position: due.position });
          continue;
        }
        statements.holdRetry.run({ ...held, position: due.position, untilMs: nowMs + leaseMs });
        rows.push({
          ...recipient,
          attempts: due.attempts,
          deferrals: due.deferrals,
          expiresAtMs: due.expires_at_ms,
        });
      }
      if (rows.length > 0) return { ...held, broadcast, rows };
      finish.ifOver(broadcastId, nowMs);
    }
  };

  return {
    leaseSlice: ({ leaseMs, broadcastId = anyBroadcast }) =>
      commits.write(() => leaseSlice(leaseMs, broadcastId)),

    readSlice: ({ broadcastId, throughPosition }, afterPosition, limit) =>
      read(() => recipients.page(broadcastId, afterPosition, throughPosition, limit)),

    claimRetries: ({ leaseMs, limit, broadcastId = anyBroadcast }) =>
      commits.write(() => claimRetries(leaseMs, limit, broadcastId)),

    renew: ({ broadcastId, token }, leaseMs) =>
      commits.write(() => {
        const untilMs = now() + leaseMs;
        statements.renewSlice.run({ broadcastId, token, untilMs });
        statements.renewRetries.run({ broadcastId, token, untilMs });
      }),

    release: ({ broadcastId, token }) =>
      commits.write(() => {
        statements.releaseSlice.run({ broadcastId, token });
        statements.releaseRetries.run({ broadcastId, token, nowMs: now() });
      }),

    commit: (page) => commits.write(() => commitPage(page)),

    nextDueAtMs: (broadcastId = anyBroadcast) =>
      read(() => statements.nextDue.first({ broadcastId })?.due_at_ms ?? undefined),
  };
}

function prepareStatements(database: DatabaseSync) {
  const broadcastId = parameter<number>('broadcastId');
  const token = parameter<string>('token');
  const nowMs = parameter<number>('nowMs');
  const untilMs = parameter<number>('untilMs');
  const isAsked = (column: string) =>
    sql`(${broadcastId} = ${anyBroadcast} or ${sql.ref(column)} = ${broadcastId})`;

  return {
    // by number first: a small broadcast does not wait for a large one that began earlier
    findFreeSlice: prepare(
      database,
      written(
        sql<{ broadcast_id: number; number: number; cursor: number; through_position: number }>`
          select s.broadcast_id, s.number, s.cursor, s.through_position
          from broadcasts b join slices s on s.broadcast_id = b.id
          where b.state = 'running' and b.start_at_ms <= ${nowMs} and s.lease_until_ms <= ${nowMs}
            and ${isAsked('b.id')}
          order by s.number, s.broadcast_id
          limit 1
        `,
      ),
    ),
    takeSlice: prepare(
      database,
      queries
        .updateTable('slices')
        .set({ token, lease_until_ms: untilMs })
        .where('broadcast_id', '=', broadcastId)
        .where('number', '=', parameter<number>('number')),
    ),
    findDue: prepare(
      database,
      written(
        sql<{ broadcast_id: number }>`
          select b.id as broadcast_id,
                 (select min(due_at_ms) from retries r where r.broadcast_id = b.id) as due_at_ms
          from broadcasts b
          where b.state = 'running' and b.start_at_ms <= ${nowMs} and due_at_ms <= ${nowMs} and ${isAsked('b.id')}
          order by due_at_ms
          limit 1
        `,
      ),
    ),
    dueRetries: prepare(
      database,
      queries
        .selectFrom('retries')
        .select(['position', 'attempts', 'deferrals', 'expires_at_ms'])
        .where('broadcast_id', '=', broadcastId)
        .where('due_at_ms', '<=', nowMs)
        .orderBy('due_at_ms')
        .limit(parameter<number>('limit')),
    ),
    holdRetry: prepare(
      database,
      queries
        .updateTable('retries')
        .set({ token, due_at_ms: untilMs })
        .where('broadcast_id', '=', broadcastId)
        .where('position', '=', parameter<number>('position')),
    ),
    dropRetry: prepare(
      database,
      queries
        .deleteFrom('retries')
        .where('broadcast_id', '=', broadcastId)
        .where('position', '=', parameter<number>('position')),
    ),
    renewSlice: prepare(
      database,
      queries
        .updateTable('slices')
        .set({ lease_until_ms: untilMs })
        .where('broadcast_id', '=', broadcastId)
        .where('token', '=', token),
    ),
    renewRetries: prepare(
      database,
      queries
        .updateTable('retries')
        .set({ due_at_ms: untilMs })
        .where('broadcast_id', '=', broadcastId)
        .where('token', '=', token),
    ),
    releaseSlice: prepare(
      database,
      queries
        .updateTable('slices')
        .set({ token: null, lease_until_ms: 0 })
        .where('broadcast_id', '=', broadcastId)
        .where('token', '=', token),
    ),
    releaseRetries: prepare(
      database,
      queries
        .updateTable('retries')
        .set({ token: null, due_at_ms: nowMs })
        .where('broadcast_id', '=', broadcastId)
        .where('token', '=', token),
    ),
    nextDue: prepare(
      database,
      written(
        sql<{ due_at_ms: number | null }>`
          select min(due_at_ms) as due_at_ms from (
            select max(b.start_at_ms, (select min(s.lease_until_ms) from slices s where s.broadcast_id = b.id))
                   as due_at_ms
            from broadcasts b where b.state = 'running' and ${isAsked('b.id')}
            union all
            select max(b.start_at_ms, (select min(r.due_at_ms) from retries r where r.broadcast_id = b.id))
            from broadcasts b where b.state = 'running' and ${isAsked('b.id')}
          )
        `,
      ),
    ),
  };
}
