// Broadcasts in PostgreSQL: what stands in its own way of creating them, and their audiences.
import { toOptionRow } from '../delivery-options.ts';
import { randomUUID } from 'node:crypto';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashEndpoint, normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { BroadcastWriter } from '../broadcast-control.ts';
import { callFunction } from './call-function.ts';
import { sliceAudience } from './audiences.ts';
import { audienceCondition } from './audience-filter.ts';
import type { PostgresDatabase } from './database.ts';

const unusedForMs = 24 * 60 * 60 * 1000;
const deleteBatchRows = 20_000;

/** @param functions the schema of the database's functions */
export function createPostgresBroadcasts(database: PostgresDatabase, functions: string): BroadcastWriter {
  const insert: BroadcastWriter['insert'] = async (draft) => {
    const { rows, rowsIn, slices } = await sliceAudience(database, functions, draft);
    const { call, values } = callFunction(`${functions}.create_broadcast`, {
      p_now_ms: database.now(),
      p_creation: randomUUID(),
      p_key: draft.idempotencyKey ?? null,
      p_hash: Buffer.from(draft.contentHash),
      p_payload: Buffer.from(draft.payload),
      p_options: JSON.stringify(toOptionRow(draft)),
      p_audience_id: draft.audienceId ?? null,
      p_user: draft.user ?? null,
      p_receipt_actions: draft.receiptActions === undefined ? null : JSON.stringify(draft.receiptActions),
      p_rows_in: rowsIn,
      p_audience: rows,
      p_start: Math.trunc(draft.startAtMs),
      p_expiry: Math.trunc(draft.expiresAtMs),
      numbers: slices.map(({ number }) => number),
      cursors: slices.map(({ afterPosition }) => afterPosition),
      throughs: slices.map(({ throughPosition }) => throughPosition),
    });
    const made = await database.first<{ readonly id: number; readonly is_new: boolean }>(
      `select * from ${call}`,
      values,
    );
    if (made === undefined) throw new Error('The broadcast was not stored.');
    return made.is_new ? made.id : undefined;
  };

  const dropUnusedAudiences = async (): Promise<void> => {
    const isUnused = `
      not exists (select from deskbell.broadcasts b where b.audience_id = a.id and b.state in ('running', 'paused'))
      and (a.created_at_ms < $1 or exists (select from deskbell.broadcasts b where b.audience_id = a.id))`;
    const oldestMs = database.clock.now() - unusedForMs;
    const dropMembers = () =>
      database.run(
        `delete from deskbell.audience_members where (audience_id, position) in (
           select m.audience_id, m.position from deskbell.audience_members m
           join deskbell.audiences a on a.id = m.audience_id where ${isUnused} limit ${deleteBatchRows})`,
        [oldestMs],
      );
    // in batches, so that no statement takes long
    while ((await dropMembers()) === deleteBatchRows);
    await database.run(`delete from deskbell.audiences a where ${isUnused}`, [oldestMs]);
  };

  return {
    openAudience: async () => {
      await dropUnusedAudiences();
      const row = await database.first<{ readonly id: number }>(
        `insert into deskbell.audiences (created_at_ms) values (${functions}.clock($1)) returning id`,
        [database.now()],
      );
      if (row === undefined) throw new Error('The list of recipients was not stored.');
      return row.id;
    },

    // one statement, which keeps nobody waiting, however long it takes
    openMatchingAudience: async (expression) => {
      await dropUnusedAudiences();
      return database.transaction(async (query) => {
        await query('set local statement_timeout = 0');
        const [list] = await query<{ readonly id: number }>(
          `insert into deskbell.audiences (created_at_ms) values (${functions}.clock($1)) returning id`,
          [database.now()],
        );
        if (list === undefined) throw new Error('The list of recipients was not stored.');
        const { condition, values } = audienceCondition(expression, 2);
        await query(
          `with added as (
             insert into deskbell.audience_members (audience_id, position, subscription_id, endpoint_hash)
             select $1, row_number() over (order by s.id), s.id, s.endpoint_hash
             from deskbell.subscriptions s where ${condition} returning 1)
           update deskbell.audiences set members = (select count(*) from added) where id = $1`,
          [list.id, ...values],
        );
        return list.id;
      });
    },

    addToAudience: async (audienceId, members) => {
      const columns = members.map(toMember);
      const isKnown = await database.first<{ readonly is_known: boolean }>(
        `select ${functions}.add_members($1, $2, $3, $4, $5, $6) as is_known`,
        [
          audienceId,
          columns.map(({ id }) => id),
          columns.map(({ hash }) => hash),
          columns.map(({ endpoint }) => endpoint),
          columns.map(({ p256dh }) => p256dh),
          columns.map(({ auth }) => auth),
        ],
      );
      if (isKnown?.is_known === true) return;
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    },

    insert,
    decideMarks: (id) =>
      database.query(`select ${functions}.decide_broadcast($1, ${functions}.clock($2))`, [
        id,
        database.now(),
      ]),
  };
}

function toMember(member: number | Subscription) {
  if (typeof member === 'number') return { id: member, hash: null, endpoint: null, p256dh: null, auth: null };
  return {
    id: null,
    hash: hashEndpoint(member.endpoint),
    endpoint: normalizeEndpoint(member.endpoint),
    p256dh: Buffer.from(member.p256dh),
    auth: Buffer.from(member.auth),
  };
}
