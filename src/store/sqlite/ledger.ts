// Stores the results of a page of rows in one transaction: the slice's cursor, counts, retries, attempts, alarms, and
// which subscriptions are marked gone. Rows are counted only here, and only by the worker that has leased them.
import { createAttemptGatherer } from '../attempt-sets.ts';
import type { Alarm, BroadcastState } from '../broadcasts.ts';
import { judgeAnswers, judgeMarks } from '../deletion-guard.ts';
import { addRemoved, finishIfOver, judgeBroadcast, judgePages, raiseAlarm } from '../finish-broadcast.ts';
import {
  type CommitAnswer,
  countPage,
  countSingleAnswers,
  type Ledger,
  type PageCommit,
  type PageCounts,
  type PageOfSlice,
  type RowResult,
  type SingleAnswers,
} from '../ledger.ts';
import type { PortableDatabase, Work } from '../portable-sql.ts';
import { drawOrderEnd } from '../push-services.ts';
import { idsAfter } from '../slices.ts';
import { addColumns, listColumns, listParameters } from '../statistics.ts';
import type { SqliteDatabase } from './database.ts';
import { createAnswerNotes, type NotedAnswers } from './gone-marks.ts';
import { dropRetry } from './leases.ts';
import { createOutcomeCounts } from './outcome-counts.ts';
import { runWork } from './portable-database.ts';
import { createPushServices, type PushServices, wakeRetries } from './push-services.ts';
import { createFrequencyCaps, createPageReader, type FrequencyCaps } from './read-page.ts';

/** @returns a function to call inside a transaction */
function createAttemptWriter(
  database: SqliteDatabase,
): (broadcastId: number, rows: readonly RowResult[], nowMs: number) => void {
  const gather = createAttemptGatherer();

  return (broadcastId, rows, nowMs) => {
    const { answers, sets } = gather(broadcastId, rows);
    for (const { rows: counted, status, reason, detail, ...answer } of answers) {
      database.run(
        `insert into answers (broadcast_id, id, origin, outcome, status, reason, detail)
         values (:broadcastId, :id, :origin, :outcome, :status, :reason, :detail)
         on conflict do nothing`,
        { ...answer, broadcastId, status: status ?? null, reason: reason ?? null, detail: detail ?? null },
      );
      if (counted === 0) continue;
      database.run(
        `insert into answer_counts (broadcast_id, answer_id, rows, last_at_ms)
         values (:broadcastId, :id, :counted, :nowMs)
         on conflict (broadcast_id, answer_id, shard) do update set
           rows = rows + excluded.rows, last_at_ms = excluded.last_at_ms`,
        { broadcastId, id: answer.id, counted, nowMs },
      );
    }
    for (const { sinceMs = nowMs, ...set } of sets)
      database.run(
        `insert into attempt_sets
           (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
         values
           (:broadcastId, :nowMs, :sinceMs, :outcome, :attempt, :answerId, :firstId, :lastId, :rows, :ids)`,
        { ...set, broadcastId, nowMs, sinceMs },
      );
  };
}

/** @returns a function to call inside a transaction */
function createPageCommit(
  database: SqliteDatabase,
  portable: PortableDatabase,
  pushServices: PushServices,
  caps: FrequencyCaps,
): (page: PageCommit) => CommitAnswer {
  const storeAttempts = createAttemptWriter(database);
  const noteAnswers = createAnswerNotes(database);
  const countOutcomes = createOutcomeCounts(database);

  /** @returns false if another worker has the slice, or if the page does not begin at the slice's cursor */
  const moveCursor = (
    { broadcastId, fenceToken, leaseMs }: PageCommit,
    { number, fromCursor, cursor }: PageOfSlice,
    nowMs: number,
  ): boolean => {
    const moved = database.first<{ cursor: number; through_position: number }>(
      `update slices set cursor = :cursor, lease_until_ms = :untilMs
       where broadcast_id = :broadcastId and number = :number and token = :fenceToken and cursor = :fromCursor
       returning cursor, through_position`,
      { broadcastId, fenceToken, number, fromCursor, cursor, untilMs: nowMs + leaseMs },
    );
    if (moved === undefined) return false;
    if (moved.cursor >= moved.through_position)
      database.run('delete from slices where broadcast_id = :broadcastId and number = :number', {
        broadcastId,
        number,
      });
    return true;
  };

  /** @returns the rows that the worker still holds; `undefined` if it has lost its lease */
  const takeRows = (page: PageCommit, nowMs: number): readonly RowResult[] | undefined => {
    const { broadcastId, fenceToken, slice } = page;
    if (slice !== undefined) return moveCursor(page, slice, nowMs) ? page.rows : undefined;
    const held = database.all<{ position: number }>(
      'select position from retries where broadcast_id = :broadcastId and token = :fenceToken',
      { broadcastId, fenceToken },
    );
    const leased = new Set(held.map(({ position }) => position));
    const rows = page.rows.filter(({ recipient }) => leased.has(recipient.position));
    if (rows.length === page.rows.length || leased.size > 0) return rows;
    const leasedSlice = database.first(
      'select 1 from slices where broadcast_id = :broadcastId and token = :fenceToken',
      { broadcastId, fenceToken },
    );
    return leasedSlice === undefined ? undefined : rows;
  };

  const store = (page: PageCommit, row: RowResult, nowMs: number, isCancelled: boolean): void => {
    const { broadcastId, fenceToken } = page;
    const { position } = row.recipient;
    const isFresh = page.slice !== undefined;
    // a cancelled row is not retried, but its outstanding response is awaited
    if (row.retry === undefined || (isCancelled && row.result !== 'detached')) {
      if (!isFresh) database.run(dropRetry, { broadcastId, position });
      return;
    }
    const {
      delayMs,
      attempts,
      deferrals,
      expiresAtMs,
      refusals = 0,
      doubts = 0,
      isOutside,
      reader,
    } = row.retry;
    const pushService = row.suspension && pushServices.find({ origin: row.origin, ...row.suspension });
    const isSuspended = pushService?.isSuspended === true;
    const values = {
      broadcastId,
      position,
      dueAtMs: isSuspended ? expiresAtMs : nowMs + delayMs,
      pushServiceId: isSuspended ? pushService.id : null,
      drawOrder: isSuspended ? drawOrderOf(row, pushService.id) : null,
      // refusals during a suspension say nothing about the row
      refusals: isSuspended ? Math.min(refusals, 1) : refusals,
      refusedBy: row.result === 'refused' ? (pushService?.id ?? null) : null,
      refusedSinceMs: row.result === 'refused' ? nowMs : null,
      attempts,
      deferrals,
      expiresAtMs,
      doubts,
      isOutside: Number(isOutside === true),
      newToken: row.result === 'detached' ? fenceToken : null,
    };
    const { language = null, timeZone = null } = reader ?? {};
    if (isFresh) database.run(addRetry, { ...values, language, timeZone });
    else {
      database.run(deferRetry, values);
      database.run(wakeRetries, { broadcastId, dueAtMs: values.dueAtMs });
    }
  };

  /** Rows that the push service accepted before get negative numbers, so that they become probes first. */
  const drawOrderOf = ({ recipient, suspension }: RowResult, pushServiceId: number): number => {
    const { drawOrder = 0 } = suspension ?? {};
    const wasAccepted = pushServices.wasAccepted(pushServiceId, recipient.subscriptionId);
    return wasAccepted ? drawOrder - drawOrderEnd : drawOrder;
  };

  /** @param rows all rows that were read for the page */
  const countMissing = (
    { removals_after: removalsAfter, rows_in: rowsIn }: BroadcastHead,
    { fromCursor, cursor, missing }: PageOfSlice,
    rows: readonly RowResult[],
  ): number => {
    if (missing !== undefined) return missing;
    // a list has a member at every position, so each position without a row was removed
    if (rowsIn === 'list') return cursor - fromCursor - rows.length;
    const removals = database.all<{ id: number }>(
      `select subscription_id as id from removals
       where subscription_id > :fromCursor and subscription_id <= :cursor and id > :removalsAfter`,
      { removalsAfter, fromCursor, cursor },
    );
    if (removals.length === 0) return 0;
    const read = new Set(rows.map(({ recipient }) => recipient.position));
    return removals.filter(({ id }) => !read.has(id)).length;
  };

  /** @param judged push services with enough responses to judge their subscriptions that are marked gone */
  function* endPage(
    broadcastId: number,
    isCancelled: boolean,
    judged: readonly string[],
    alarms: PageCounts['alarms'],
  ): Work<readonly Alarm[]> {
    const raised: Alarm[] = [];
    for (const alarm of alarms) raised.push(...(yield* raiseAlarm(portable, broadcastId, alarm)));
    if (isCancelled) return [...raised, ...(yield* judgeBroadcast(portable, broadcastId))];
    raised.push(...(yield* judgePages(portable, broadcastId, judged)));
    return [...raised, ...((yield* finishIfOver(portable, broadcastId)) ?? [])];
  }

  return (page) => {
    const nowMs = database.now();
    const { broadcastId } = page;
    const head = database.first<BroadcastHead>(
      'select state, start_at_ms, per_person, rows_in, removals_after from broadcasts where id = :broadcastId',
      { broadcastId },
    );
    const rows = head && takeRows(page, nowMs);
    if (head === undefined || rows === undefined) {
      return {
        isLeaseLost: true,
        state: head?.state ?? 'cancelled',
        newAlarms: [],
        pushServices: pushServices.states(),
      };
    }

    pushServices.record(page.answers ?? [], nowMs);
    const isCancelled = head.state === 'cancelled';
    for (const row of rows) {
      store(page, row, nowMs, isCancelled);
      if (row.result === 'accepted' && head.per_person !== null)
        caps.accept(broadcastId, row.recipient, nowMs);
    }

    const judged: string[] = [];
    const answersOf = judgeAnswers(rows);
    const { tallies, alarms } = countPage(rows);
    for (const { answers, woken, goneRows: gone, acceptedBy, ...counts } of tallies) {
      database.run(addTally, { broadcastId, ...counts, dormant: counts.dormant - woken });
      countOutcomes(counts, { id: broadcastId, startAtMs: head.start_at_ms });
      const { origin, accepted } = counts;
      const noted = { origin, answers, accepted, gone, acceptedBy, page: answersOf.get(origin) };
      if (noteAnswers(noted)) judged.push(origin);
    }
    if (page.slice !== undefined)
      runWork(database, addRemoved(broadcastId, countMissing(head, page.slice, rows)));
    storeAttempts(broadcastId, rows, nowMs);
    return {
      isLeaseLost: false,
      state: head.state,
      newAlarms: runWork(database, endPage(broadcastId, isCancelled, judged, alarms)),
      pushServices: pushServices.states(),
    };
  };
}

interface BroadcastHead {
  readonly state: BroadcastState;
  readonly start_at_ms: number;
  readonly per_person: string | null;
  readonly rows_in: string;
  readonly removals_after: number;
}

const addRetry = `
  insert into retries
    (broadcast_id, position, due_at_ms, attempts, deferrals, expires_at_ms, token, push_service_id, draw_order,
     refusals, refused_by, refused_since_ms, doubts, is_outside, language, time_zone)
  values
    (:broadcastId, :position, :dueAtMs, :attempts, :deferrals, :expiresAtMs, :newToken, :pushServiceId, :drawOrder,
     :refusals, :refusedBy, :refusedSinceMs, :doubts, :isOutside, :language, :timeZone)`;

const deferRetry = `
  update retries set
    due_at_ms = :dueAtMs,
    attempts = :attempts,
    deferrals = :deferrals,
    expires_at_ms = :expiresAtMs,
    token = :newToken,
    push_service_id = :pushServiceId,
    draw_order = :drawOrder,
    refusals = :refusals,
    doubts = :doubts,
    is_outside = :isOutside,
    refused_by = coalesce(refused_by, :refusedBy),
    refused_since_ms = coalesce(refused_since_ms, :refusedSinceMs)
  where broadcast_id = :broadcastId and position = :position`;

const addTally = `
  insert into origin_counts as c (broadcast_id, origin, ${listColumns})
  values (:broadcastId, :origin, ${listParameters})
  on conflict (broadcast_id, shard, origin) do update set ${addColumns}`;

export function createSqliteLedger(database: SqliteDatabase, portable: PortableDatabase): Ledger {
  const recipients = createPageReader(database);
  const noteAnswers = createAnswerNotes(database);
  const pushServices = createPushServices(database);
  const countOutcomes = createOutcomeCounts(database);
  const caps = createFrequencyCaps(database);
  const commitPage = createPageCommit(database, portable, pushServices, caps);

  return {
    readRows: ({ broadcastId, throughPosition, members, broadcast }, afterPosition, limit) => {
      const page = () =>
        members === undefined
          ? recipients.page(broadcastId, afterPosition, throughPosition, limit)
          : recipients.byIds(idsAfter(members, afterPosition), limit);
      if (broadcast.perPerson === undefined) return database.read(page);
      return database.write(() => caps.reserve(broadcast, page()));
    },
    commit: (page) => database.write(() => commitPage(page)),
    recordAnswers: ({ origins, answers = [] }) =>
      database.write(() => {
        pushServices.record(answers, database.now());
        for (const told of origins) {
          if (noteAnswers(toNoted(told))) runWork(database, judgeMarks(portable, told.origin, 'single'));
          countOutcomes({ origin: told.origin, ...countSingleAnswers(told) });
        }
        return pushServices.states();
      }),
    pushServices: () => database.read(() => pushServices.states()),
  };
}

const toNoted = ({
  origin,
  accepted,
  gone,
  other,
  goneSubscriptions,
  acceptedEndpoints,
}: SingleAnswers): NotedAnswers => ({
  origin,
  answers: accepted + gone + other,
  accepted,
  gone: goneSubscriptions,
  acceptedBy: acceptedEndpoints.map((endpoint) => ({ endpoint })),
});
