// Subscriptions that left the store because their push service called them gone, until somebody has taken note. A
// trigger of the schema writes them, whoever deletes a subscription that is marked gone.
import { run, type PortableDatabase, type PortableValues } from './portable-sql.ts';

/** A subscription that its push service has ended (404 or 410) and that was deleted. */
export interface EndedSubscription {
  /** As it was in the store; no other subscription gets it. */
  readonly id: number;
  readonly endpoint: string;
  /** Whose it was, if the application had said. */
  readonly user: string | undefined;
  /** When the push service said so, milliseconds since 1970. */
  readonly goneAtMs: number;
}

/** Nobody needs to take note: what is older than 30 days is deleted. */
export interface EndedSubscriptions {
  /** Those with an id above `afterId` (default: all) in the order of ids, at most `limit`. */
  list(limit: number, afterId?: number): Promise<readonly EndedSubscription[]>;
  /** Those of a user, the latest first, at most `limit`. */
  ofUser(user: string, limit: number): Promise<readonly EndedSubscription[]>;
  /** Somebody has taken note of them. */
  remove(ids: readonly number[]): Promise<void>;
}

interface EndedRow {
  readonly id: number;
  readonly endpoint: string;
  readonly user_name: string | null;
  readonly gone_at_ms: number;
}

export function createEndedSubscriptions(database: PortableDatabase): EndedSubscriptions {
  const read = async (rest: string, values: PortableValues): Promise<readonly EndedSubscription[]> => {
    const rows = await database.read<EndedRow>(
      `select id, endpoint, user_name, gone_at_ms from deskbell.ended_subscriptions ${rest}`,
      values,
    );
    return rows.map(({ id, endpoint, user_name, gone_at_ms }) => ({
      id,
      endpoint,
      user: user_name ?? undefined,
      goneAtMs: gone_at_ms,
    }));
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
