// Creates broadcasts in PostgreSQL, with their audiences.
import { toOptionRow } from '../delivery-options.ts';
import { randomUUID } from 'node:crypto';
import { toSourceColumns } from '../broadcast-source.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashEndpoint, normalizeEndpoint } from '../../protocol/endpoint.ts';
import { isPrepared } from '../broadcasts.ts';
import type { BroadcastWriter } from '../broadcast-control.ts';
import { callFunction } from './call-function.ts';
import { sliceAudience } from './audiences.ts';
import { createMemberFinder } from './member-finder.ts';
import type { PostgresDatabase } from './database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresBroadcasts(database: PostgresDatabase, functions: string): BroadcastWriter {
  const insert: BroadcastWriter['insert'] = async (draft) => {
    const { rows, rowsIn, slices, preparation, removalsAfter } = await sliceAudience(
      database,
      functions,
      draft,
    );
    const source = toSourceColumns(draft);
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
      p_expression: isPrepared(draft) ? JSON.stringify(draft.matching ?? null) : null,
      p_split: draft.split === undefined ? null : JSON.stringify(draft.split),
      p_slice_rows: preparation?.sliceRows ?? null,
      p_through: preparation?.throughId ?? null,
      p_removals_after: removalsAfter ?? null,
      p_asked_audience: source.asked_audience,
      p_created_by: source.created_by,
      languages: [...(draft.texts?.keys() ?? [])],
      texts: [...(draft.texts?.values() ?? [])].map((text) => Buffer.from(text)),
      p_has_placeholders: Number(draft.hasPlaceholders ?? false),
    });
    const made = await database.first<{ readonly id: number; readonly is_new: boolean }>(
      `select * from ${call}`,
      values,
    );
    if (made === undefined) throw new Error('The broadcast was not stored.');
    return made.is_new ? made.id : undefined;
  };

  return {
    ...createMemberFinder(database),

    addToAudience: async (audienceId, members) => {
      const isKnown = await database.first<{ readonly is_known: boolean }>(
        `select ${functions}.add_members($1, $2, $3, $4, $5) as is_known`,
        [
          audienceId,
          members.map(({ endpoint }) => hashEndpoint(endpoint)),
          members.map(({ endpoint }) => normalizeEndpoint(endpoint)),
          members.map(({ p256dh }) => Buffer.from(p256dh)),
          members.map(({ auth }) => Buffer.from(auth)),
        ],
      );
      if (isKnown?.is_known === true) return;
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    },

    insert,
  };
}
