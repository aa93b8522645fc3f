// Audiences of stored subscriptions, written down as sets of ids: those of an expression range by range, each in a short
// transaction, so that any process goes on where another one has ended. Nothing is sent before the last range.
import type { AudienceExpression } from '../audience/user-and-tags.ts';
import type { BroadcastStore } from './broadcasts.ts';
import { encodeIds } from './id-set.ts';
import { run, type PortableDatabase, type Work } from './portable-sql.ts';

/** Whom a slice is for. */
export interface MemberSet {
  /** Of PostgreSQL, that all of them are in; absent: any. */
  readonly partition?: number | undefined;
  /** Ascending. */
  readonly ids: readonly number[];
}

export interface IdRange {
  readonly afterId: number;
  readonly throughId: number;
  /** About how many ids to look at. */
  readonly width: number;
  /** About how many ids a set has. */
  readonly sliceRows: number;
}

/** What each database does in its own way. */
export interface MemberFinder {
  /** The subscriptions that meet an expression now, of some ids behind `afterId`. @returns how far it has looked */
  findMatching(
    expression: AudienceExpression,
    range: IdRange,
  ): Promise<{ readonly sets: readonly MemberSet[]; readonly throughId: number; readonly width: number }>;
  /** @param ids ascending, each once; they need not be stored */
  cutSets(ids: readonly number[], sliceRows: number): Promise<readonly MemberSet[]>;
}

export type Preparations = Pick<BroadcastStore, 'addIds' | 'prepare' | 'findUnprepared'>;

/** Kilobytes each. */
const setsOfTransaction = 100;
/** A range takes a fraction of it. */
const leaseMs = 10_000;

interface PreparationRow {
  readonly expression: string;
  readonly slice_rows: number;
  readonly done_through: number;
  readonly through_id: number;
  readonly width: number;
}

export function createPreparations(database: PortableDatabase, finder: MemberFinder): Preparations {
  return {
    addIds: async (audienceId, ids, sliceRows) => {
      const sets = await finder.cutSets(ids, sliceRows);
      for (let first = 0; first < sets.length; first += setsOfTransaction) {
        const some = sets.slice(first, first + setsOfTransaction);
        await database.transaction(() => insertSets(audienceId, first, some));
      }
      await database.write('update deskbell.audiences set members = :members where id = :audienceId', {
        audienceId,
        members: ids.length,
      });
    },

    prepare: async (broadcastId, holder) => {
      const [row] = await database.write<PreparationRow>(
        `update deskbell.preparations set token = :holder, lease_until_ms = :untilMs
         where broadcast_id = :broadcastId and is_paused = 0 and (token = :holder or lease_until_ms <= :nowMs)
         returning expression, slice_rows, done_through, through_id, width`,
        { broadcastId, holder, nowMs: database.now(), untilMs: database.now() + leaseMs },
      );
      if (row === undefined) return false;
      const { done_through: afterId, through_id: lastId } = row;
      const expression = JSON.parse(row.expression) as AudienceExpression;
      const { sets, throughId, width } = await finder.findMatching(expression, {
        afterId,
        throughId: lastId,
        width: row.width,
        sliceRows: row.slice_rows,
      });
      const isLast = throughId >= lastId;
      const nowMs = database.now();
      return database.transaction(() =>
        addRange({ broadcastId, afterId, throughId, width, isLast, sets, nowMs }),
      );
    },

    findUnprepared: async () => {
      const [row] = await database.read<{ readonly id: number }>(
        `select broadcast_id as id from deskbell.preparations where is_paused = 0 and lease_until_ms <= :nowMs
         order by broadcast_id limit 1`,
        { nowMs: database.now() },
      );
      return row?.id;
    },
  };
}

interface FoundRange extends Omit<IdRange, 'sliceRows'> {
  readonly nowMs: number;
  readonly broadcastId: number;
  readonly sets: readonly MemberSet[];
  readonly isLast: boolean;
}

/**
 * Whoever is first with these ids stores them: where a range takes longer than the lease, somebody gets on.
 *
 * @returns whether the holder is to go on
 */
function* addRange({ broadcastId, sets, isLast, nowMs, ...range }: FoundRange): Work<boolean> {
  const id = { broadcastId };
  const [moved] = yield* run<{ readonly number: number }>(
    `update deskbell.preparations
     set done_through = :throughId, width = :width, next_number = next_number + :sets
     where broadcast_id = :broadcastId and done_through = :afterId and is_paused = 0
     returning next_number - :sets as number`,
    { ...id, ...range, sets: sets.length },
  );
  if (moved === undefined) return false;
  const { number } = moved;
  const [broadcast] = yield* run<{ readonly audience_id: number }>(
    `update deskbell.broadcasts set audience = audience + :rows
     where id = :broadcastId and state = 'paused' returning audience_id`,
    { ...id, rows: sets.reduce((rows, { ids }) => rows + ids.length, 0) },
  );
  if (broadcast === undefined) return false;
  yield* insertSets(broadcast.audience_id, number, sets);
  yield* run(
    `insert into deskbell.slices (broadcast_id, number, cursor, through_position)
     select :broadcastId, number, first_id - 1, last_id from deskbell.audience_sets
     where audience_id = :audienceId and number >= :number`,
    { ...id, audienceId: broadcast.audience_id, number },
  );
  if (!isLast) return true;
  yield* run('delete from deskbell.preparations where broadcast_id = :broadcastId', id);
  // an audience of nobody is done at once
  yield* run(
    `update deskbell.broadcasts set
       state = case when audience = 0 then 'done' else 'running' end,
       finished_at_ms = case when audience = 0 then cast(:nowMs as bigint) end
     where id = :broadcastId`,
    { ...id, nowMs },
  );
  return false;
}

/** @param firstNumber of the first set; those that follow count on. What is there already stays */
function* insertSets(audienceId: number, firstNumber: number, sets: readonly MemberSet[]): Work<void> {
  for (const [index, { partition = null, ids }] of sets.entries()) {
    yield* run(
      `insert into deskbell.audience_sets (audience_id, number, in_partition, first_id, last_id, rows, ids)
       values (:audienceId, :number, :partition, :firstId, :lastId, :rows, :ids) on conflict do nothing`,
      {
        audienceId,
        number: firstNumber + index,
        partition,
        firstId: ids[0]!,
        lastId: ids.at(-1)!,
        rows: ids.length,
        ids: encodeIds(ids),
      },
    );
  }
}
