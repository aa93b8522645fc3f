// Creates broadcasts in SQLite, with their audiences.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { BroadcastWriter } from '../broadcast-control.ts';
import { isPrepared, type NewBroadcast, toSourceColumns } from '../broadcasts.ts';
import { optionColumns, toOptionRow } from '../delivery-options.ts';
import type { MemberFinder } from '../preparations.ts';
import { leftOutCode, receiptWindowMs } from '../receipts.ts';
import type { ReadersOfSet } from '../split-audience.ts';
import { cutSet, cutSlices, type Extent, joinIds, maxSlices } from '../slices.ts';
import { createAudienceFilter } from './audience-filter.ts';
import type { NoValues, SqliteDatabase } from './database.ts';
import { runPortable } from './portable-database.ts';

// Audiences: all subscriptions, lists of subscriptions that need not be stored, or sets of ids.
/** Candidates to look at for each row of a slice. Looking at 10,000 takes some tens of milliseconds. */
const candidatesOfRow = 5;
const maxCandidates = 10_000;
/** The most looks of one transaction, which makes few slices if few candidates are members. */
const maxLooks = 10;

export interface Audiences {
  readonly finder: MemberFinder;
  add(audienceId: number, members: readonly Subscription[]): Promise<void>;
  /** Inside a transaction. @param audienceId absent for all subscriptions */
  extent(audienceId: number | undefined): Extent;
}

function createAudiences(database: SqliteDatabase): Audiences {
  const statements = prepareAudienceStatements(database);
  const filter = createAudienceFilter(database);

  const add = (audienceId: number, members: readonly Subscription[]) => {
    const audience = statements.find.first({ audienceId });
    if (audience === undefined) {
      throw new DeskbellError('ERR_FIELD_VALUE', `There is no list of recipients ${audienceId}.`);
    }
    let count = audience.members;
    for (const { endpoint, p256dh, auth } of members) {
      const position = count + 1;
      count += statements.add.run({
        audienceId,
        position,
        endpoint: normalizeEndpoint(endpoint),
        p256dh,
        auth,
      });
    }
    statements.setMembers.run({ audienceId, members: count });
  };

  return {
    add: (audienceId, members) => database.write(() => add(audienceId, members)),
    extent: (audienceId) => {
      if (audienceId === undefined) {
        const { rows = 0, first, last } = statements.extentOfAll.first({}) ?? {};
        return { rows, firstPosition: first ?? 1, lastPosition: last ?? 0 };
      }
      const rows = statements.find.first({ audienceId })?.members ?? 0;
      return { rows, firstPosition: 1, lastPosition: rows };
    },
    finder: {
      findMatching: async (expression, { afterId, throughId: lastId, width, sliceRows }) => {
        const ids: number[] = [];
        const candidates = Math.min(maxCandidates, candidatesOfRow * sliceRows);
        let throughId = afterId;
        for (let look = 0; look < maxLooks && ids.length < sliceRows && throughId < lastId; look += 1) {
          const range = await database.read(() => {
            const found = filter.rangeAfter(expression, throughId, candidates);
            return { throughId: found.throughId ?? lastId, ids: found.ids };
          });
          for (const id of range.ids) if (id <= lastId) ids.push(id);
          throughId = range.throughId;
        }
        return { sets: cutSet({ ids }, sliceRows), throughId, width };
      },
      cutSets: async (ids, sliceRows) => cutSet({ ids }, sliceRows),
      slicesToSplit: 16,
      readersOf: ({ ids }, { channel, skipInactive }) =>
        database.read(() => {
          const rows = runPortable(database, {
            sql: selectReaders(skipInactive),
            values: {
              ids: JSON.stringify(ids),
              channel: channel?.name ?? null,
              isOn: channel?.isOnByDefault ?? true,
            },
          }) as readonly ReadersRow[];
          return rows.map(({ language, time_zone: timeZone, left_out: leftOut, ids: found }) => ({
            language: language ?? undefined,
            timeZone: timeZone ?? undefined,
            leftOut,
            ids: JSON.parse(found) as number[],
          }));
        }),
      joinSets: (sets, sliceRows) => cutSet({ ids: joinIds(sets) }, sliceRows),
    },
  };
}

interface ReadersRow {
  readonly language: string | null;
  readonly time_zone: string | null;
  readonly left_out: ReadersOfSet['leftOut'];
  /** JSON. */
  readonly ids: string;
}

const isOn = ':channel is null or coalesce(p.channels ->> :channel, s.channels ->> :channel, :isOn)';

const selectReaders = (skipInactive: number | undefined): string => `
  select coalesce(p.language, s.language) as language, coalesce(p.time_zone, s.time_zone) as time_zone,
         ${leftOutCode(skipInactive, isOn)} as left_out, json_group_array(s.id) as ids
  from json_each(:ids) i cross join deskbell.subscriptions s on s.id = i.value
  left join deskbell.people p on p.user_name = s.user_name
  group by 1, 2, 3`;

function prepareAudienceStatements(database: SqliteDatabase) {
  return {
    find: database.prepare<{ audienceId: number }, { members: number }>(
      'select members from audiences where id = :audienceId',
    ),
    setMembers: database.prepare<{ audienceId: number; members: number }>(
      'update audiences set members = :members where id = :audienceId',
    ),
    add: database.prepare<{
      audienceId: number;
      position: number;
      endpoint: string;
      p256dh: Uint8Array;
      auth: Uint8Array;
    }>(`
        insert into audience_members (audience_id, position, endpoint, p256dh, auth)
        values (:audienceId, :position, :endpoint, :p256dh, :auth)
        on conflict do nothing
      `),
    extentOfAll: database.prepare<NoValues, { rows: number; first: number | null; last: number | null }>(`
        select (select coalesce(sum(subscriptions), 0) from subscription_counts) as rows,
               (select min(id) from subscriptions) as first,
               (select max(id) from subscriptions) as last
      `),
  };
}

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
