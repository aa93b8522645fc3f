// What came of subscriptions in broadcasts: from their attempts, where they wait, and whether they were in the audience.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createAttemptReader, type IdRange } from './attempt-reader.ts';
import type { AttemptStore, RowOutcome, RowState, RowWait } from './attempts.ts';
import { nextIdOf } from './id-set.ts';
import type { PortableDatabase } from './portable-sql.ts';
import { createFactsReader, noFacts, type RetryRow, type RowFacts, type RowsHead } from './row-facts.ts';

/** Broadcasts that are looked at together, and in all, for one page. */
const headBatch = 20;
const maxBroadcasts = 100;

const nothingKnown: RowFacts = noFacts();

/** @returns all that the store knows of what came of rows */
export function createAttempts(database: PortableDatabase): AttemptStore {
  const { histories, ...reader } = createAttemptReader(database);
  const facts = createFactsReader(database, histories);

  const findHead = async (broadcastId: number): Promise<RowsHead> => {
    const [head] = await facts.heads('b.id = :broadcastId', { broadcastId });
    if (head !== undefined) return head;
    throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${broadcastId}.`);
  };

  /** The next id of which anything is stored for the broadcast: ids may be far apart. */
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

  const nextAfter = async (head: RowsHead, lastId: number): Promise<number | undefined> => {
    const next = await nextId(head, lastId);
    return next === undefined ? undefined : next - 1;
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
      const lastId = Math.min(afterId + ids, Number.MAX_SAFE_INTEGER);
      const range: IdRange = { firstId: afterId + 1, lastId };
      const [rows] = await facts.rows([head], range);
      const known = [...rows!].sort(([one], [other]) => one - other);
      const outcomes = known.map(([id, row]) => toOutcome(head, id, row, database.now()));
      return {
        outcomes: outcomes.filter((outcome, index) => wasRecipient(outcome, known[index]![1])),
        next: await nextAfter(head, lastId),
      };
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

/** Whether it is known that the row was in the audience, or would have been, had it not been inactive. */
const wasRecipient = ({ state, attempts }: RowOutcome, { isMember }: RowFacts): boolean =>
  attempts.length > 0 ||
  isMember ||
  !['notInAudience', 'preparing', 'notTracked', 'noLongerKept', 'removed'].includes(state);

function toOutcome(head: RowsHead, id: number, row: RowFacts, nowMs: number): RowOutcome {
  const { attempts, stored, retry } = row;
  const state = stateOf(head, row, nowMs);
  const origin = attempts[0]?.origin ?? (stored && URL.parse(stored.endpoint)?.origin);
  return {
    broadcastId: head.id,
    subscriptionId: id,
    state,
    ...(origin !== undefined && { origin }),
    ...(stored?.user_name != null && { user: stored.user_name }),
    ...(state === 'inactive' && { skipInactive: head.skip_inactive ?? undefined }),
    ...(state === 'waiting' && retry !== undefined && { wait: toWait(retry) }),
    attempts,
    ...(head.asks_receipts && { receipts: receiptsOf(head, row) }),
    ...(stored?.marked_at_ms != null && { heldSinceMs: stored.marked_at_ms }),
  };
}

function stateOf(head: RowsHead, row: RowFacts, nowMs: number): RowState {
  const { attempts, retry } = row;
  const [last] = attempts;
  if (last !== undefined && last.outcome !== 'retry') return last.outcome;
  if (retry === undefined) return unsettledState(head, row);
  return retry.token !== null && retry.due_at_ms > nowMs ? 'inFlight' : 'waiting';
}

/** Of a row that no attempt has settled, and that is not stored to be tried again. */
function unsettledState(head: RowsHead, { attempts, isMember, isInactive, stored }: RowFacts): RowState {
  const isOver = head.state === 'done' || head.state === 'cancelled';
  if (attempts.length === 0) {
    if (head.attempts_dropped_at_ms !== null) return 'noLongerKept';
    if (isInactive) return 'inactive';
    if (!isMember) {
      if (head.is_preparing) return 'preparing';
      if (head.rows_in === 'list') return 'notTracked';
      if (head.audience_id !== null) return 'notInAudience';
      if (stored !== undefined && stored.created_at_ms > head.created_at_ms) return 'notInAudience';
      // of all that were there something is stored; it came later, and brought an earlier date of registration with it
      if (stored !== undefined && head.state === 'done') return 'notInAudience';
    }
  }
  if (stored === undefined) return 'removed';
  if (!isOver) return 'pending';
  return head.state === 'cancelled' ? 'cancelled' : 'removed';
}

/** With a subscription, what its browser has reported is deleted. */
const receiptsOf = (head: RowsHead, { receipts, stored }: RowFacts): RowOutcome['receipts'] =>
  receipts.length > 0 || (head.has_receipts && stored !== undefined) ? receipts : 'noLongerKept';

function toWait(retry: RetryRow): RowWait {
  const { attempts, expires_at_ms: expiresAtMs } = retry;
  if (retry.push_service_id !== null) return { for: 'pushService', expiresAtMs, attempts };
  return { for: attempts > 0 ? 'retry' : 'turn', untilMs: retry.due_at_ms, expiresAtMs, attempts };
}
