// Broadcasts in SQLite: creating and controlling them.
import {
  repeatBroadcast,
  wrongBroadcastState,
  type Broadcast,
  type BroadcastState,
  type BroadcastStore,
  type NewBroadcast,
  requireBroadcast,
} from '../broadcasts.ts';
import { cutSlices } from '../slices.ts';
import { receiptWindowMs } from '../receipts.ts';
import { createAttemptLog } from './attempt-log.ts';
import { createBroadcastReader } from './broadcast-reader.ts';
import { createAudiences } from './audiences.ts';
import { createBroadcastFinisher } from './finish-broadcast.ts';
import { inBatches } from './in-batches.ts';
import type { SqliteDatabase } from './database.ts';

/** Some tens of milliseconds of one transaction. */
const deleteBatchRows = 5000;

export function createSqliteBroadcasts(database: SqliteDatabase): BroadcastStore {
  const statements = prepareStatements(database);
  const reader = createBroadcastReader(database);
  const audiences = createAudiences(database);
  const log = createAttemptLog(database);
  const finish = createBroadcastFinisher(database);

  const create = (draft: NewBroadcast) => {
    const existing = draft.idempotencyKey === undefined ? undefined : reader.findByKey(draft.idempotencyKey);
    if (existing !== undefined) return repeatBroadcast(existing, draft.contentHash);
    const extent = audiences.extent(draft.audienceId);
    const row = statements.insert.first({
      idempotencyKey: draft.idempotencyKey ?? null,
      contentHash: draft.contentHash,
      payload: draft.payload,
      ttlSeconds: draft.ttlSeconds,
      urgency: draft.urgency,
      topic: draft.topic ?? null,
      audienceId: draft.audienceId ?? null,
      user: draft.user ?? null,
      perPerson: draft.perPerson ?? null,
      hasList: draft.audienceId === undefined ? 0 : 1,
      audience: extent.rows,
      nowMs: database.now(),
      startAtMs: draft.startAtMs,
      expiresAtMs: draft.expiresAtMs,
      receiptActions: draft.receiptActions === undefined ? null : JSON.stringify(draft.receiptActions),
      // an audience of nobody is done at once
      state: extent.rows === 0 ? 'done' : 'running',
      finishedAtMs: extent.rows === 0 ? database.now() : null,
    });
    if (row === undefined) throw new Error('The broadcast was not stored.');
    if (draft.receiptActions !== undefined) {
      statements.openReceiptWindow.run({
        broadcastId: row.id,
        endsAtMs: Math.max(draft.startAtMs, database.now()) + receiptWindowMs,
      });
    }
    const slices = cutSlices(extent, draft.sliceRows);
    for (const [number, { afterPosition, throughPosition }] of slices.entries()) {
      statements.insertSlice.run({ broadcastId: row.id, number, cursor: afterPosition, throughPosition });
    }
    log.prune();
    return { broadcast: getOrThrow(row.id), isNew: true };
  };

  const getOrThrow = (id: number): Broadcast => requireBroadcast(reader.find(id), id);

  const change = (id: number, to: BroadcastState, from: readonly BroadcastState[]) =>
    database.write(() => {
      const broadcast = getOrThrow(id);
      if (broadcast.state === to) return broadcast;
      if (!from.includes(broadcast.state)) throw wrongBroadcastState(broadcast, from, to);
      statements.setState.run({ id, state: to, finishedAtMs: to === 'cancelled' ? database.now() : null });
      if (to === 'cancelled') finish.decideMarks(id);
      return getOrThrow(id);
    });

  return {
    openAudience: () => audiences.open(),
    openMatchingAudience: (expression) => audiences.openMatching(expression),
    addToAudience: (audienceId, members) => audiences.add(audienceId, members),
    create: (draft) => database.write(() => create(draft)),
    find: (id) => database.read(() => reader.find(id)),
    findByKey: (idempotencyKey) => database.read(() => reader.findByKey(idempotencyKey)),
    list: ({ beforeId = Number.MAX_SAFE_INTEGER, limit }) =>
      database.read(() => reader.list(beforeId, limit)),
    listOpen: (limit) => database.read(() => reader.listOpen(limit)),
    summaries: ({ beforeId = Number.MAX_SAFE_INTEGER, limit }) =>
      database.read(() => reader.summaries(beforeId, limit)),
    pause: (id) => change(id, 'paused', ['running']),
    resume: (id) => change(id, 'running', ['paused']),
    cancel: async (id) => {
      const broadcast = await change(id, 'cancelled', ['running', 'paused']);
      await inBatches(database, () => statements.dropRetries.run({ id }) === deleteBatchRows);
      return broadcast;
    },
    attempts: (filter) => database.read(() => log.find(filter)),
  };
}

function prepareStatements(database: SqliteDatabase) {
  return {
    insert: database.prepare<
      {
        idempotencyKey: string | null;
        contentHash: Uint8Array;
        state: BroadcastState;
        payload: Uint8Array;
        ttlSeconds: number;
        urgency: string;
        topic: string | null;
        audienceId: number | null;
        user: string | null;
        perPerson: string | null;
        hasList: 0 | 1;
        audience: number;
        nowMs: number;
        startAtMs: number;
        expiresAtMs: number;
        finishedAtMs: number | null;
        receiptActions: string | null;
      },
      { id: number }
    >(`
        insert into broadcasts (
          idempotency_key, content_hash, state, payload, ttl_seconds, urgency, topic,
          audience_id, user, has_list, audience, created_at_ms, start_at_ms, expires_at_ms, finished_at_ms,
          receipt_actions, per_person
        ) values (
          :idempotencyKey, :contentHash, :state, :payload, :ttlSeconds, :urgency, :topic,
          :audienceId, :user, :hasList, :audience, :nowMs, :startAtMs, :expiresAtMs, :finishedAtMs,
          :receiptActions, :perPerson
        ) returning id
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
    openReceiptWindow: database.prepare<{ broadcastId: number; endsAtMs: number }>(
      'insert into receipt_windows (broadcast_id, ends_at_ms) values (:broadcastId, :endsAtMs)',
    ),
    setState: database.prepare<{ id: number; state: BroadcastState; finishedAtMs: number | null }>(
      'update broadcasts set state = :state, finished_at_ms = :finishedAtMs where id = :id',
    ),
    // what a worker holds right now it settles itself
    dropRetries: database.prepare<{ id: number }>(`
        delete from retries where broadcast_id = :id and position in (
          select position from retries
          where broadcast_id = :id and token is null
          limit ${deleteBatchRows}
        )
      `),
  };
}
