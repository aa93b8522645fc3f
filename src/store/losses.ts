// Subscriptions that have left the store: when, at which push service, why, and who removed them. Triggers record them.
// A deletion for any reason other than `gone` sets the reason in the same transaction.
import { setImmediate } from 'node:timers/promises';
import {
  nullsToUndefined,
  run,
  type PortableDatabase,
  type PortableValues,
  type Work,
} from './portable-sql.ts';
import type { StoredSubscription } from './subscriptions.ts';

/**
 * `gone`: the push service reported it as gone. `unsubscribed`: the browser unsubscribed. `removed`: an operator or a
 * command removed it, alone or with its person or push service. `replaced`: the browser registered again.
 */
export const lossReasons = ['gone', 'unsubscribed', 'removed', 'replaced'] as const;
export type LossReason = (typeof lossReasons)[number];

/** Number of subscriptions lost on one day at one push service for one reason. */
export interface LossCount {
  /** Midnight UTC. */
  readonly startMs: number;
  readonly origin: string;
  readonly reason: LossReason;
  readonly subscriptions: number;
}

export interface Loss {
  /** Increases over time. */
  readonly id: number;
  /** The id of the former subscription; absent if its person was removed. */
  readonly subscriptionId: number | undefined;
  readonly atMs: number;
  readonly origin: string;
  readonly reason: LossReason;
  /** Who removed the subscription; absent if unknown. */
  readonly removedBy: string | undefined;
  /** The subscription's user. For gone subscriptions, the user is only kept for 30 days. */
  readonly user: string | undefined;
}

/** Selects losses that match all given members. */
export interface LossFilter {
  readonly reason?: LossReason | undefined;
  readonly origins?: readonly string[] | undefined;
  readonly subscriptionId?: number | undefined;
  /** The start, included. `untilMs` is excluded. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** The last id of the previous page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** Records of lost subscriptions. Each record is kept for 90 days. */
export type Losses = ReturnType<typeof createLosses>;

export const lossesKeptMs = 90 * 24 * 60 * 60 * 1000;

/** Deletes a subscription that the transaction has found, and records why. */
export function* removeSubscription(
  { endpoint: { column, valueOf } }: PortableDatabase,
  { id, endpoint }: Pick<StoredSubscription, 'id' | 'endpoint'>,
  reason: Exclude<LossReason, 'gone'>,
  removedBy?: string,
): Work<void> {
  yield* run(`delete from deskbell.subscriptions where id = :id and ${column} = :endpoint`, {
    id,
    endpoint: valueOf(endpoint),
  });
  yield* run(
    'update deskbell.losses set reason = :reason, removed_by = :removedBy where subscription_id = :id',
    { id, reason, removedBy },
  );
}

const dayMs = 24 * 60 * 60 * 1000;

const startOfDay = (atMs: number): number => atMs - (atMs % dayMs);

export function createLosses(database: PortableDatabase) {
  const conditions = {
    reason: 'l.reason = :reason',
    origins: `${database.position}(:origins, '"' || l.origin || '"') > 0`,
    subscriptionId: 'l.subscription_id = :subscriptionId',
    sinceMs: 'l.at_ms >= :sinceMs',
    untilMs: 'l.at_ms < :untilMs',
    beforeId: 'l.id < :beforeId',
  } as const;
  /**
   * Counts of past days. Each day is counted once, because its losses stay the same until they are deleted for their
   * age.
   */
  const past = new Map<number, readonly LossCount[]>();

  const countDay = async (startMs: number): Promise<readonly LossCount[]> => {
    const rows = await database.read<Omit<LossCount, 'startMs'>>(
      `select origin, reason, count(*) as subscriptions from deskbell.losses
       where at_ms >= :startMs and at_ms < :endMs group by 1, 2 order by 3 desc, 1, 2`,
      { startMs, endMs: startMs + dayMs },
    );
    return rows.map((row) => ({ startMs, ...row }));
  };

  return {
    /** Newest day first. */
    countByDay: async (): Promise<readonly LossCount[]> => {
      const [range] = await database.read<{ readonly first: number | null; readonly last: number | null }>(
        'select min(at_ms) as first, max(at_ms) as last from deskbell.losses',
      );
      const { first, last } = range!;
      if (first === null || last === null) return [];
      const [oldestMs, newestMs] = [startOfDay(first), startOfDay(last)];
      for (const startMs of past.keys()) if (startMs <= oldestMs) past.delete(startMs);
      const days: LossCount[] = [];
      for (let startMs = newestMs; startMs >= oldestMs; startMs -= dayMs) {
        const counted = past.get(startMs) ?? (await countDay(startMs));
        // a transaction of the previous day may still be open
        if (startMs < newestMs - dayMs) past.set(startMs, counted);
        days.push(...counted);
        await setImmediate();
      }
      return days;
    },
    /** Newest first. */
    list: async ({ limit, origins, ...others }: LossFilter): Promise<readonly Loss[]> => {
      const filter = { ...others, origins: origins && JSON.stringify(origins) };
      const given = Object.entries(filter).filter(([, value]) => value !== undefined);
      const where = ['true', ...given.map(([name]) => conditions[name as keyof typeof conditions])];
      const rows = await database.read<Loss>(
        `select l.id, l.subscription_id as "subscriptionId", l.at_ms as "atMs", l.origin, l.reason,
           l.removed_by as "removedBy", e.user_name as "user"
         from deskbell.losses l left join deskbell.ended_subscriptions e on e.id = l.subscription_id
         where ${where.join(' and ')} order by l.id desc limit :limit`,
        { ...(Object.fromEntries(given) as PortableValues), limit },
      );
      return rows.map(nullsToUndefined);
    },
  };
}
