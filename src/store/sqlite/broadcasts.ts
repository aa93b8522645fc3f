// Creates broadcasts in SQLite, with their audiences.
import type { BroadcastWriter } from '../broadcast-control.ts';
import { toSourceColumns } from '../broadcast-source.ts';
import { isPrepared, type NewBroadcast } from '../broadcasts.ts';
import { optionColumns, toOptionRow } from '../delivery-options.ts';
import { cutSlices, maxSlices } from '../slices.ts';
import { receiptWindowMs } from '../receipts.ts';
import { createAudiences } from './audiences.ts';
import type { SqliteDatabase } from './database.ts';

export function createSqliteBroadcasts(database: SqliteDatabase): BroadcastWriter {
  const statements = prepareStatements(database);
  const { finder, ...audiences } = createAudiences(database);

  const isOfSets = (audienceId: number | undefined): boolean =>
    audienceId !== undefined && statements.findSet.first({ audienceId }) !== undefined;

  const toPreparation = ({ matching, split, sliceRows }: NewBroadcast) => {
    const { rows, lastPosition } = audiences.extent(undefined);
    return {
      expression: JSON.stringify(matching ?? null),
      split: split === undefined ? null : JSON.stringify(split),
      sliceRows: Math.max(sliceRows, Math.ceil(rows / maxSlices)),
      throughId: matching === undefined ? null : lastPosition,
    };
  };

  const insert = (draft: NewBroadcast): number | undefined => {
    const hasSets = draft.matching !== undefined || isOfSets(draft.audienceId);
    const extent = audiences.extent(draft.audienceId);
    const audience = isPrepared(draft) ? 0 : extent.rows;
    const row = statements.insert.first(toValues(draft, hasSets, audience, database.now()));
    if (row === undefined) return undefined;
    for (const [language, payload] of draft.texts ?? [])
      statements.insertText.run({ broadcastId: row.id, language, payload });
    if (draft.receiptActions !== undefined) {
      statements.openReceiptWindow.run({
        broadcastId: row.id,
        endsAtMs: Math.max(draft.startAtMs, database.now()) + receiptWindowMs,
      });
    }
    if (isPrepared(draft)) {
      statements.prepare.run({ broadcastId: row.id, ...toPreparation(draft) });
      return row.id;
    }
    if (hasSets) {
      statements.insertSlicesOfSets.run({ broadcastId: row.id });
      return row.id;
    }
    const slices = cutSlices(extent, draft.sliceRows);
    for (const [number, { afterPosition, throughPosition }] of slices.entries()) {
      statements.insertSlice.run({ broadcastId: row.id, number, cursor: afterPosition, throughPosition });
    }
    return row.id;
  };

  return {
    ...finder,
    addToAudience: audiences.add,
    insert: (draft) => database.write(() => insert(draft)),
  };
}

const toValues = (draft: NewBroadcast, hasSets: boolean, audience: number, nowMs: number) => ({
  idempotencyKey: draft.idempotencyKey ?? null,
  contentHash: draft.contentHash,
  payload: draft.payload,
  ...toOptionRow(draft),
  audienceId: draft.audienceId ?? null,
  user: draft.user ?? null,
  ...toSourceColumns(draft),
  hasTexts: Number(draft.texts !== undefined),
  hasPlaceholders: Number(draft.hasPlaceholders ?? false),
  rowsIn: draft.audienceId === undefined || hasSets ? 'all' : 'list',
  audience,
  nowMs,
  startAtMs: draft.startAtMs,
  expiresAtMs: draft.expiresAtMs,
  receiptActions: draft.receiptActions === undefined ? null : JSON.stringify(draft.receiptActions),
  ...startOf(draft, audience, nowMs),
});

/** An audience of nobody is done at once; one that is to be looked for waits. */
function startOf(draft: NewBroadcast, audience: number, nowMs: number) {
  if (isPrepared(draft)) return { state: 'paused', finishedAtMs: null };
  return audience === 0 ? { state: 'done', finishedAtMs: nowMs } : { state: 'running', finishedAtMs: null };
}

function prepareStatements(database: SqliteDatabase) {
  return {
    insert: database.prepare<ReturnType<typeof toValues>, { id: number }>(`
        insert into broadcasts (
          idempotency_key, content_hash, state, payload,
          audience_id, user_name, rows_in, audience, created_at_ms, start_at_ms, expires_at_ms, finished_at_ms,
          receipt_actions, asked_audience, created_by, has_texts, has_placeholders, removals_after, ${optionColumns.join(', ')}
        ) values (
          :idempotencyKey, :contentHash, :state, :payload,
          :audienceId, :user, :rowsIn, :audience, :nowMs, :startAtMs, :expiresAtMs, :finishedAtMs,
          :receiptActions, :asked_audience, :created_by, :hasTexts, :hasPlaceholders,
          coalesce((select seq from sqlite_sequence where name = 'removals'), 0),
          ${optionColumns.map((column) => `:${column}`).join(', ')}
        ) on conflict (idempotency_key) do nothing returning id
      `),
    insertSlice: database.prepare<{
      broadcastId: number;
      number: number;
      cursor: number;
      throughPosition: number;
    }>(`
        insert into slices (broadcast_id, number, cursor, through_position)
        values (:broadcastId, :number, :cursor, :throughPosition)
      `),
    findSet: database.prepare<{ audienceId: number }, { number: number }>(
      'select number from audience_sets where audience_id = :audienceId limit 1',
    ),
    prepare: database.prepare<{
      broadcastId: number;
      expression: string;
      split: string | null;
      sliceRows: number;
      throughId: number | null;
    }>(`
        insert into preparations (broadcast_id, expression, split, slice_rows, through_id, width, next_number)
        select :broadcastId, :expression, :split, :sliceRows, coalesce(:throughId, s.next), 0, s.next
        from (select coalesce(max(number) + 1, 0) as next from audience_sets
              where audience_id = (select audience_id from broadcasts where id = :broadcastId)) s
      `),
    insertText: database.prepare<{ broadcastId: number; language: string; payload: Uint8Array }>(
      'insert into broadcast_texts (broadcast_id, language, payload) values (:broadcastId, :language, :payload)',
    ),
    insertSlicesOfSets: database.prepare<{ broadcastId: number }>(`
        insert into slices (broadcast_id, number, cursor, through_position)
        select b.id, s.number, s.first_id - 1, s.last_id
        from broadcasts b join audience_sets s on s.audience_id = b.audience_id where b.id = :broadcastId
      `),
    openReceiptWindow: database.prepare<{ broadcastId: number; endsAtMs: number }>(
      'insert into receipt_windows (broadcast_id, ends_at_ms) values (:broadcastId, :endsAtMs)',
    ),
  };
}
