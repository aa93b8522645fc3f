// Determines what happened to each subscription in a broadcast, from attempts, waiting rows, and positions in the
// audience.
import { DeskbellError, fieldError } from '../errors/deskbell-error.ts';
import { type AttemptReader, createAttemptReader, type IdRange } from './attempt-reader.ts';
import type { AttemptRecord, AttemptStore, RowOutcome, RowState, RowWait } from './attempts.ts';
import { type OutcomeAudience, type OutcomeGroup, settlements } from './broadcasts.ts';
import { decodeIds, indexOfId, nextIdOf } from './id-set.ts';
import type { PortableDatabase, PortableValues } from './portable-sql.ts';
import { createQuietTimes, lifetimeOf } from './reader-times.ts';
import { type LeftOut, reasonOf } from './split-audience.ts';
import { type ReceiptEvent, receiptEvents } from './receipts.ts';

// Reads attempts last, so that a row that gets its result in the meantime is found among them.

interface RowsHead {
  readonly id: number;
  readonly state: 'running' | 'paused' | 'cancelled' | 'done';
  /** True if some rows may be stored to be retried, even after the broadcast has ended. */
  readonly has_retries: number | boolean;
  /** Null if the broadcast goes to all subscriptions, or if its list was deleted. */
  readonly audience_id: number | null;
  /** `list`: positions are not ids. */
  readonly rows_in: string;
  /** True if the broadcast's audience is not complete. */
  readonly is_preparing: number | boolean;
  readonly created_at_ms: number;
  readonly attempts_dropped_at_ms: number | null;
  readonly asks_receipts: number | boolean;
  /** True if the store still knows who sent receipts. */
  readonly has_receipts: number | boolean;
  readonly skip_inactive: number | null;
  readonly ttl_seconds: number;
  readonly quiet_hours: string | null;
  readonly time_zone: string | null;
}

interface RetryRow {
  readonly due_at_ms: number;
  readonly attempts: number;
  readonly expires_at_ms: number;
  readonly token: string | null;
  readonly push_service_id: number | null;
  readonly time_zone: string | null;
}

export interface StoredRow {
  readonly endpoint: string;
  readonly user_name: string | null;
  readonly created_at_ms: number;
  /** Set if the subscription's push service called it gone, but the deletion guard holds its deletion. */
  readonly marked_at_ms: number | null;
}

type GatheredFacts = ReturnType<typeof noFacts>;
type RowFacts = Readonly<GatheredFacts>;

const noFacts = () => ({
  /** Newest first. */
  attempts: [] as AttemptRecord[],
  retry: undefined as RetryRow | undefined,
  /** True if the subscription's id is in the audience. */
  isMember: false,
  /** The time at which the row's slice becomes free, if the slice waits for its readers' local time; otherwise 0. */
  freeAtMs: 0,
  /** Why the row was left out of the audience. */
  leftOut: undefined as LeftOut | undefined,
  stored: undefined as StoredRow | undefined,
  receipts: [] as ReceiptEvent[],
});

function createFactsReader(database: PortableDatabase, histories: AttemptReader['histories']) {
  /** @param where condition on a broadcast `b` */
  const heads = (where: string, values: PortableValues) =>
    database.read<RowsHead>(
      `select b.id, case when b.finished_at_ms is null or b.state = 'cancelled' then b.state else 'done' end as state,
              b.state in ('running', 'paused') as has_retries, b.audience_id, b.rows_in, b.created_at_ms, b.attempts_dropped_at_ms, b.skip_inactive,
              b.ttl_seconds, b.quiet_hours, b.time_zone,
              b.receipt_actions is not null as asks_receipts,
              exists (select 1 from deskbell.receipt_windows w where w.broadcast_id = b.id) as has_receipts,
              exists (select 1 from deskbell.preparations p where p.broadcast_id = b.id) as is_preparing
       from deskbell.broadcasts b where ${where}`,
      values,
    );

  const readRetries = (open: readonly RowsHead[], range: IdRange): Promise<readonly FoundRetry[]> => {
    const broadcastIds = idsOf(open.filter(({ rows_in }) => rows_in !== 'list'));
    if (broadcastIds.length === 0) return Promise.resolve([]);
    return database.read<FoundRetry>(
      `select broadcast_id, position as id, due_at_ms, attempts, expires_at_ms, token, push_service_id, time_zone
       from deskbell.retries
       where ${database.isOneOf('broadcast_id', 'broadcastIds')}
         and position >= :firstId and position <= :lastId`,
      { broadcastIds, ...range },
    );
  };

  const readMembers = async (given: readonly RowsHead[], { firstId, lastId }: IdRange) => {
    const audiences = given.flatMap(({ audience_id: id }) => id ?? []);
    if (audiences.length === 0) return [];
    const sets = await database.read<{
      readonly audience_id: number;
      readonly ids: Uint8Array;
      readonly left_out: number;
      readonly free_at_ms: number | null;
    }>(
      `select a.audience_id, a.ids, a.left_out, (
         select max(s.lease_until_ms) from deskbell.broadcasts b join deskbell.slices s on s.broadcast_id = b.id
         where ${database.isOneOf('b.id', 'broadcastIds')} and b.audience_id = a.audience_id and s.number = a.number and s.token is null
       ) as free_at_ms
       from deskbell.audience_sets a
       where ${database.isOneOf('a.audience_id', 'audiences')} and a.first_id <= :lastId and a.last_id >= :firstId`,
      { audiences, broadcastIds: idsOf(given), firstId, lastId },
    );
    return sets.map(({ ids, ...set }) => ({ ...set, ids: within(ids, firstId, lastId) }));
  };

  const readStored = (range: IdRange) =>
    database.read<StoredRow & { readonly id: number }>(
      `select s.id, s.endpoint, s.user_name, s.created_at_ms, m.marked_at_ms
       from deskbell.subscriptions s
       left join deskbell.gone_marks m on m.subscription_id = s.id and m.is_held = true
       where s.id >= :firstId and s.id <= :lastId`,
      { ...range },
    );

  const readReceipts = async (given: readonly RowsHead[], range: IdRange) =>
    given.length === 0
      ? []
      : database.read<{ readonly broadcast_id: number; readonly id: number; readonly event: ReceiptEvent }>(
          `select broadcast_id, subscription_id as id, event from deskbell.receipts
           where ${database.isOneOf('broadcast_id', 'broadcastIds')}
             and subscription_id >= :firstId and subscription_id <= :lastId`,
          { broadcastIds: idsOf(given), ...range },
        );

  return {
    heads,
    /** @returns for each broadcast, what is known about its rows, by subscription id */
    rows: async (given: readonly RowsHead[], range: IdRange) => {
      const facts = new Map(given.map(({ id }) => [id, new Map<number, GatheredFacts>()]));
      const of = (broadcastId: number, id: number): GatheredFacts => {
        const rows = facts.get(broadcastId)!;
        const row = rows.get(id) ?? noFacts();
        rows.set(id, row);
        return row;
      };
      const open = given.filter(({ has_retries: hasRetries }) => hasRetries);
      for (const retry of await readRetries(open, range)) of(retry.broadcast_id, retry.id).retry = retry;
      for (const { audience_id, ids, left_out: code, free_at_ms } of await readMembers(given, range)) {
        const standing =
          code === 0 ? { isMember: true, freeAtMs: free_at_ms ?? 0 } : { leftOut: reasonOf(code) };
        for (const head of given) {
          if (head.audience_id === audience_id)
            for (const id of ids) Object.assign(of(head.id, id), standing);
        }
      }
      for (const row of await readStored(range)) for (const { id } of given) of(id, row.id).stored = row;
      const asking = given.filter(({ has_receipts }) => has_receipts);
      for (const { broadcast_id, id, event } of await readReceipts(asking, range))
        of(broadcast_id, id).receipts.push(event);
      for (const attempt of await histories(idsOf(given), range))
        of(attempt.broadcastId, attempt.subscriptionId).attempts.push(attempt);
      return given.map(({ id }) => facts.get(id)!);
    },
  };
}

const idsOf = (heads: readonly RowsHead[]): readonly number[] => heads.map(({ id }) => id);

interface FoundRetry extends RetryRow {
  readonly broadcast_id: number;
  readonly id: number;
}

function within(set: Uint8Array, firstId: number, lastId: number): readonly number[] {
  if (firstId === lastId) return indexOfId(set, firstId) < 0 ? [] : [firstId];
  return decodeIds(set).filter((id) => id >= firstId && id <= lastId);
}

/** Number of broadcasts that are searched together; `maxBroadcasts` is the limit per page. */
const headBatch = 20;
const maxBroadcasts = 100;

const nothingKnown: RowFacts = noFacts();

/** @returns everything the store knows about results of rows */
export function createAttempts(database: PortableDatabase): AttemptStore {
  const { histories, ...reader } = createAttemptReader(database);
  const facts = createFactsReader(database, histories);

  const findHead = async (broadcastId: number): Promise<RowsHead> => {
    const [head] = await facts.heads('b.id = :broadcastId', { broadcastId });
    if (head !== undefined) return head;
    throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${broadcastId}.`);
  };

  /** Finds the next id for which the broadcast has data; ids may be far apart. */
  const nextId = async (
    { id, audience_id: audienceId }: RowsHead,
    lastId: number,
  ): Promise<number | undefined> => {
    const owners =
      audienceId === null
        ? ([['attempt_sets', 'broadcast_id', id]] as const)
        : ([
            ['attempt_sets', 'broadcast_id', id],
            ['audience_sets', 'audience_id', audienceId],
          ] as const);
    const found: (number | null | undefined)[] = [];
    for (const [table, owner, ownerId] of owners) {
      const values = { ownerId, lastId };
      const [later] = await database.read<{ readonly id: number | null }>(
        `select min(first_id) as id from deskbell.${table} where ${owner} = :ownerId and first_id > :lastId`,
        values,
      );
      const around = await database.read<{ readonly ids: Uint8Array }>(
        `select ids from deskbell.${table} s
         where ${owner} = :ownerId and s.first_id <= :lastId and s.last_id > :lastId`,
        values,
      );
      found.push(later?.id, ...around.map(({ ids }) => nextIdOf(ids, lastId)));
    }
    if (audienceId === null) {
      const [stored] = await database.read<{ readonly id: number | null }>(
        'select min(id) as id from deskbell.subscriptions where id > :lastId',
        { lastId },
      );
      found.push(stored?.id);
    }
    const ids = found.flatMap((each) => each ?? []);
    return ids.length === 0 ? undefined : Math.min(...ids);
  };

  const readRange = async (head: RowsHead, afterId: number, ids: number) => {
    const lastId = Math.min(afterId + ids, Number.MAX_SAFE_INTEGER);
    const [rows] = await facts.rows([head], { firstId: afterId + 1, lastId });
    const known = [...rows!].sort(([one], [other]) => one - other);
    const found = known.map(([id, row]) => ({ row, outcome: toOutcome(head, id, row, database.now()) }));
    const next = await nextId(head, lastId);
    return { found, next: next === undefined ? undefined : next - 1 };
  };

  return {
    ...reader,

    outcomesOf: async (broadcastId, subscriptionIds) => {
      const head = await findHead(broadcastId);
      const outcomes: RowOutcome[] = [];
      for (const id of subscriptionIds) {
        const [rows] = await facts.rows([head], { firstId: id, lastId: id });
        outcomes.push(toOutcome(head, id, rows!.get(id) ?? nothingKnown, database.now()));
      }
      return outcomes;
    },

    outcomesAfter: async (broadcastId, { afterId, ids }) => {
      const head = await findHead(broadcastId);
      if (head.attempts_dropped_at_ms !== null) return { outcomes: [] };
      const { found, next } = await readRange(head, afterId, ids);
      const recipients = found.filter(({ row, outcome }) => wasRecipient(outcome, row));
      return { outcomes: recipients.map(({ outcome }) => outcome), next };
    },

    idsAfter: async (audience, { afterId, ids }) => {
      const [head] = await facts.heads('b.id = :id', { id: audience.broadcast });
      assertKnown(audience, head);
      const { found, next } = await readRange(head, afterId, ids);
      const members = found.filter(
        ({ row, outcome }) => row.stored !== undefined && isOf(audience.outcome, outcome),
      );
      return { ids: members.map(({ outcome }) => outcome.subscriptionId), next };
    },

    outcomesTo: async (subscriptionIds, { beforeId = Number.MAX_SAFE_INTEGER, limit }) => {
      if (subscriptionIds.length === 0) return { outcomes: [] };
      const outcomes: RowOutcome[] = [];
      let next = beforeId;
      let broadcasts = 0;
      for (let looked = 0; looked < maxBroadcasts; looked += headBatch) {
        const heads = await facts.heads('b.id < :next order by b.id desc limit :limit', {
          next,
          limit: headBatch,
        });
        const found = await Promise.all(
          subscriptionIds.map(async (id) => facts.rows(heads, { firstId: id, lastId: id })),
        );
        for (const [index, head] of heads.entries()) {
          if (broadcasts === limit) return { outcomes, next };
          const ofHead = subscriptionIds.flatMap((id, device) => {
            const row = found[device]![index]!.get(id) ?? nothingKnown;
            const outcome = toOutcome(head, id, row, database.now());
            return wasRecipient(outcome, row) ? [outcome] : [];
          });
          outcomes.push(...ofHead);
          if (ofHead.length > 0) broadcasts += 1;
          next = head.id;
        }
        if (heads.length < headBatch) return { outcomes };
      }
      return { outcomes, next };
    },
  };
}

/** True if the row was certainly in the audience, or would have been if it had been active. */
const wasRecipient = ({ state, attempts }: RowOutcome, { isMember }: RowFacts): boolean =>
  attempts.length > 0 ||
  isMember ||
  !['notInAudience', 'preparing', 'notTracked', 'noLongerKept', 'removed'].includes(state);

/** For each outcome group based on receipts: an event, and whether the group's rows have reported that event. */
const reported: Readonly<Partial<Record<OutcomeGroup, readonly [event: ReceiptEvent, isReported: boolean]>>> =
  {
    shown: ['shown', true],
    notShown: ['shown', false],
    clicked: ['clicked', true],
    notClicked: ['clicked', false],
    dismissed: ['dismissed', true],
  };
const missed: ReadonlySet<RowState> = new Set([
  ...settlements.filter((settlement) => settlement !== 'accepted' && settlement !== 'doubtful'),
  'cancelled',
] as const);

function isOf(group: OutcomeGroup, { state, receipts }: RowOutcome): boolean {
  if (group === 'missed') return missed.has(state);
  const report = reported[group];
  if (report === undefined) return state === group;
  const [event, isReported] = report;
  return state === 'accepted' && Array.isArray(receipts) && receipts.includes(event) === isReported;
}

const refuse = (pointer: string, detail: string) => fieldError('ERR_FIELD_VALUE', pointer, detail);

/** @throws {DeskbellError} ERR_FIELD_VALUE */
function assertKnown(
  { broadcast, outcome }: OutcomeAudience,
  head: RowsHead | undefined,
): asserts head is RowsHead {
  if (head === undefined) throw refuse('/broadcast', `There is no broadcast ${broadcast}.`);
  if (head.is_preparing)
    throw refuse(
      '/broadcast',
      `The audience of broadcast ${broadcast} is not complete yet; try again later.`,
    );
  if (head.attempts_dropped_at_ms !== null)
    throw refuse(
      '/broadcast',
      `What came of single subscriptions is no longer kept for broadcast ${broadcast}; choose a newer one.`,
    );
  if (head.rows_in === 'list')
    throw refuse(
      '/broadcast',
      `Broadcast ${broadcast} is to a list of subscriptions that need not be stored: what came of single ones is not kept.`,
    );
  if (reported[outcome] === undefined) return;
  if (!head.asks_receipts)
    throw refuse(
      '/outcome',
      `Broadcast ${broadcast} did not ask for receipts, so it is not known who saw or clicked it; choose "accepted" or "missed".`,
    );
  if (!head.has_receipts)
    throw refuse(
      '/outcome',
      `Who saw or clicked broadcast ${broadcast} is no longer kept: it is for 30 days; choose "accepted" or "missed".`,
    );
}

function toOutcome(head: RowsHead, id: number, row: RowFacts, nowMs: number): RowOutcome {
  const { attempts, stored } = row;
  const state = stateOf(head, row, nowMs);
  const origin = attempts[0]?.origin ?? (stored && URL.parse(stored.endpoint)?.origin);
  return {
    broadcastId: head.id,
    subscriptionId: id,
    state,
    ...(origin !== undefined && { origin }),
    ...(stored?.user_name != null && { user: stored.user_name }),
    ...(state === 'inactive' && { skipInactive: head.skip_inactive ?? undefined }),
    ...((state === 'waiting' || (state === 'dormant' && row.retry !== undefined)) && {
      wait: toWait(head, row, nowMs),
    }),
    ...(isLater(head, row) && state === 'notInAudience' && { isLater: true as const }),
    attempts,
    ...(head.asks_receipts && { receipts: receiptsOf(head, row) }),
    ...(stored?.marked_at_ms != null && { heldSinceMs: stored.marked_at_ms }),
  };
}

function stateOf(head: RowsHead, row: RowFacts, nowMs: number): RowState {
  const { attempts, retry } = row;
  const [last] = attempts;
  if (last !== undefined && last.outcome !== 'retry') return last.outcome;
  if (retry === undefined) return unsettledState(head, row, nowMs);
  return retry.token !== null && retry.due_at_ms > nowMs ? 'inFlight' : 'waiting';
}

/** Returns the state of a row that has neither an attempt with a final outcome nor a retry. */
function unsettledState(head: RowsHead, row: RowFacts, nowMs: number): RowState {
  const { attempts, isMember, leftOut, stored, freeAtMs } = row;
  const isOver = head.state === 'done' || head.state === 'cancelled';
  if (attempts.length === 0) {
    if (head.attempts_dropped_at_ms !== null) return 'noLongerKept';
    if (leftOut !== undefined) return leftOut;
    if (!isMember) {
      if (head.is_preparing) return 'preparing';
      if (head.rows_in === 'list') return 'notTracked';
      if (head.audience_id !== null) return 'notInAudience';
      if (isLater(head, row)) return 'notInAudience';
      // this subscription has no attempt, so it was added after the broadcast began, with a backdated registration
      if (stored !== undefined && head.state === 'done') return 'notInAudience';
    }
  }
  // a row that is removed after the cancellation still counts as cancelled
  if (head.state === 'cancelled') return stored === undefined && nothingSays(row) ? 'removed' : 'cancelled';
  if (stored === undefined) return 'removed';
  if (!isOver) return freeAtMs > nowMs ? 'waiting' : 'pending';
  return 'removed';
}

/** True if there is no evidence that the row was in the audience. */
const nothingSays = ({ attempts, isMember }: RowFacts): boolean => attempts.length === 0 && !isMember;

/** Returns the receipts of a row. They are deleted together with the subscription. */
const receiptsOf = (head: RowsHead, { receipts, stored }: RowFacts): RowOutcome['receipts'] =>
  receipts.length > 0 || (head.has_receipts && stored !== undefined)
    ? receiptEvents.filter((event) => receipts.includes(event))
    : 'noLongerKept';

/** Workers defer rows by their own clocks, which may differ by this much. */
const toleranceMs = 60_000;

const isLater = ({ created_at_ms: madeAtMs }: RowsHead, { stored }: RowFacts): boolean =>
  stored !== undefined && stored.created_at_ms > madeAtMs;

/** Returns what a waiting row waits for: its retry or, if it has none, the time of its slice. */
function toWait(head: RowsHead, { retry, freeAtMs }: RowFacts, nowMs: number): RowWait {
  if (retry === undefined) {
    const expiresAtMs = freeAtMs + lifetimeOf(head.ttl_seconds);
    return { for: 'localTime', untilMs: freeAtMs, expiresAtMs, attempts: 0 };
  }
  const { attempts, expires_at_ms: expiresAtMs, due_at_ms: untilMs } = retry;
  if (retry.push_service_id !== null) return { for: 'pushService', expiresAtMs, attempts };
  if (attempts > 0) return { for: 'retry', untilMs, expiresAtMs, attempts };
  const { quiet_hours, time_zone } = head;
  const quiet = createQuietTimes({ quietHours: quiet_hours ?? undefined, timeZone: time_zone ?? undefined });
  const quietEndMs = quiet?.(retry.time_zone ?? undefined, nowMs) ?? Infinity;
  const isQuiet = Math.abs(untilMs - quietEndMs) < toleranceMs;
  return { for: isQuiet ? 'localTime' : 'turn', untilMs, expiresAtMs, attempts };
}
