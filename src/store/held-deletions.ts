// Held deletions: subscriptions that their push service calls gone, but that the deletion guard did not delete.
// Operators decide.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { nullsToUndefined, type PortableDatabase, type PortableValues, run } from './portable-sql.ts';

/** The alarm that a broadcast raises if subscriptions are held. */
export const heldDeletionsReason = 'deletions-held';

export const heldDeletionsDetail = (origin: string): string =>
  'it calls subscriptions gone and accepts almost nothing; they are kept until you run ' +
  `"deskbell held-deletions confirm ${origin}" or "discard"`;

/** Marked subscriptions of one origin that wait for an operator. */
export interface HeldOrigin {
  readonly origin: string;
  readonly subscriptions: number;
  /** When the first of these subscriptions was marked. */
  readonly sinceMs: number;
}

export type HeldDeletions = ReturnType<typeof createHeldDeletions>;

/** Selects columns of a batch of marks that wait for an operator. `is_held = true` is also the index's condition. */
const held = (columns: string): string => `
  select ${columns} from deskbell.gone_marks where origin = :origin and is_held = true limit :batchRows`;

export function createHeldDeletions(database: PortableDatabase) {
  const { subscription, mark } = database.markedRow;
  return {
    /** Ordered by origin. */
    list: () =>
      database.read<HeldOrigin>(
        `select origin, sum(subscriptions) as subscriptions,
           (select min(m.marked_at_ms) from deskbell.gone_marks m
            where m.origin = h.origin and m.is_held = true) as "sinceMs"
         from deskbell.held_marks h group by origin having sum(subscriptions) > 0 order by origin`,
      ),
    /**
     * Deletes the held subscriptions of the origin as gone, except those that are being renewed.
     *
     * @returns how many were deleted
     */
    confirm: (origin: string) =>
      database.writeInBatches(
        `delete from deskbell.subscriptions where (${subscription}) in (${held(mark)})`,
        {
          origin,
        },
      ),
    /** Keeps the held subscriptions of an origin that was wrong to call them gone. @returns how many were kept */
    discard: (origin: string) =>
      database.writeInBatches(
        `delete from deskbell.gone_marks where is_held = true and subscription_id in (${held('subscription_id')})`,
        { origin },
      ),
  };
}

/**
 * @param subscriptions number of confirmed or discarded subscriptions
 * @throws {DeskbellError} ERR_SUBSCRIPTION_NOT_FOUND if it is 0
 */
export function requireHeldDeletions(subscriptions: number, origin: string): number {
  if (subscriptions > 0) return subscriptions;
  throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', `No deletions are held for ${origin}.`, {
    remedy: 'See `deskbell held-deletions list`.',
  });
}

// Subscriptions that were deleted as gone, until an application has been told. A trigger stores them whenever a
// subscription that is marked gone is deleted.

/** A subscription that was deleted because its push service has ended it (404 or 410). */
export interface EndedSubscription {
  /** The former subscription's id, which is never reused. */
  readonly id: number;
  readonly endpoint: string;
  /** The user that the subscription belonged to, if the application had set a user. */
  readonly user: string | undefined;
  /** When the push service reported it as gone, in milliseconds since 1970. */
  readonly goneAtMs: number;
}

/**
 * Stores subscriptions that have ended, until the application has been told. An ended subscription is deleted after 30
 * days, even if the application was not told.
 */
export interface EndedSubscriptions {
  /** Lists at most `limit` ended subscriptions with ids above `afterId` (default: all), in the order of ids. */
  list(limit: number, afterId?: number): Promise<readonly EndedSubscription[]>;
  /** Lists at most `limit` ended subscriptions of a user, latest first. */
  ofUser(user: string, limit: number): Promise<readonly EndedSubscription[]>;
  /** Removes ended subscriptions that the application has been told about. */
  remove(ids: readonly number[]): Promise<void>;
}

export function createEndedSubscriptions(database: PortableDatabase): EndedSubscriptions {
  const read = async (rest: string, values: PortableValues): Promise<readonly EndedSubscription[]> => {
    const rows = await database.read<EndedSubscription>(
      `select id, endpoint, user_name as "user", gone_at_ms as "goneAtMs"
       from deskbell.ended_subscriptions ${rest}`,
      values,
    );
    return rows.map(nullsToUndefined);
  };

  return {
    list: (limit, afterId = 0) => read('where id > :afterId order by id limit :limit', { limit, afterId }),
    ofUser: (user, limit) =>
      read('where user_name = :user order by gone_at_ms desc, id desc limit :limit', { user, limit }),
    remove: (ids) =>
      database.transaction(function* () {
        for (const id of ids) yield* run('delete from deskbell.ended_subscriptions where id = :id', { id });
      }),
  };
}
