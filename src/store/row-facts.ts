// What the store has of rows that says what came of them: places in audiences, retries, attempts, the subscription itself and what
// its browser has reported. Attempts are read last, so that a row which is settled meanwhile is found there.
import type { AttemptReader, IdRange } from './attempt-reader.ts';
import type { AttemptRecord } from './attempts.ts';
import { decodeIds, indexOfId } from './id-set.ts';
import type { PortableDatabase, PortableValues } from './portable-sql.ts';
import type { ReceiptEvent } from './receipts.ts';

/** What is to be known of a broadcast. */
export interface RowsHead {
  readonly id: number;
  readonly state: 'running' | 'paused' | 'cancelled' | 'done';
  /** Null if the audience is all subscriptions, or if its list was dropped. */
  readonly audience_id: number | null;
  /** `list`: its positions are no ids. */
  readonly rows_in: string;
  /** Its audience is not complete. */
  readonly is_preparing: number | boolean;
  readonly created_at_ms: number;
  readonly attempts_dropped_at_ms: number | null;
  readonly asks_receipts: number | boolean;
  /** It is known who reported them. */
  readonly has_receipts: number | boolean;
  readonly skip_inactive: number | null;
}

/** A row that is stored to be tried again. */
export interface RetryRow {
  readonly due_at_ms: number;
  readonly attempts: number;
  readonly expires_at_ms: number;
  readonly token: string | null;
  readonly push_service_id: number | null;
}

export interface StoredRow {
  readonly endpoint: string;
  readonly user_name: string | null;
  readonly created_at_ms: number;
  /** Where its deletion is held. */
  readonly marked_at_ms: number | null;
}

/** What is known of a row. */
export type RowFacts = Readonly<GatheredFacts>;

export interface FactsReader {
  /** @param where of a broadcast `b` */
  heads(where: string, values: PortableValues): Promise<readonly RowsHead[]>;
  /** @returns of each broadcast, the rows of which anything is known, by subscription */
  rows(heads: readonly RowsHead[], range: IdRange): Promise<readonly ReadonlyMap<number, RowFacts>[]>;
}

interface GatheredFacts {
  /** The newest first. */
  attempts: AttemptRecord[];
  retry: RetryRow | undefined;
  /** It is a member of the audience by its id. */
  isMember: boolean;
  /** It was left out of the audience for it. */
  isInactive: boolean;
  stored: StoredRow | undefined;
  receipts: ReceiptEvent[];
}

/** Of a row of which nothing is known. */
export const noFacts = (): GatheredFacts => ({
  attempts: [],
  retry: undefined,
  isMember: false,
  isInactive: false,
  stored: undefined,
  receipts: [],
});

export function createFactsReader(
  database: PortableDatabase,
  histories: AttemptReader['histories'],
): FactsReader {
  const heads: FactsReader['heads'] = (where, values) =>
    database.read<RowsHead>(
      `select b.id, b.state, b.audience_id, b.rows_in, b.created_at_ms, b.attempts_dropped_at_ms, b.skip_inactive,
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
      `select broadcast_id, position as id, due_at_ms, attempts, expires_at_ms, token, push_service_id
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
      readonly is_inactive: number;
    }>(
      `select audience_id, ids, is_inactive from deskbell.audience_sets
       where ${database.isOneOf('audience_id', 'audiences')} and first_id <= :lastId and last_id >= :firstId`,
      { audiences, firstId, lastId },
    );
    return sets.map(({ audience_id, ids, is_inactive }) => ({
      audience_id,
      ids: within(ids, firstId, lastId),
      standing: is_inactive === 1 ? ('isInactive' as const) : ('isMember' as const),
    }));
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
    rows: async (given, range) => {
      const facts = new Map(given.map(({ id }) => [id, new Map<number, GatheredFacts>()]));
      const of = (broadcastId: number, id: number): GatheredFacts => {
        const rows = facts.get(broadcastId)!;
        let row = rows.get(id);
        if (row === undefined) {
          row = noFacts();
          rows.set(id, row);
        }
        return row;
      };
      const open = given.filter(({ state }) => state === 'running' || state === 'paused');
      for (const retry of await readRetries(open, range)) of(retry.broadcast_id, retry.id).retry = retry;
      for (const { audience_id, ids, standing } of await readMembers(given, range)) {
        for (const head of given) {
          if (head.audience_id === audience_id) for (const id of ids) of(head.id, id)[standing] = true;
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
