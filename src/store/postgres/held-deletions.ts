// Held deletions in PostgreSQL, as an operator sees them.
import type { HeldDeletions, HeldOrigin } from '../held-deletions.ts';
import type { PostgresDatabase } from './database.ts';

export function createPostgresHeldDeletions(database: PostgresDatabase): HeldDeletions {
  return {
    list: async () => {
      const rows = await database.query<{
        readonly origin: string;
        readonly subscriptions: number;
        readonly since_ms: number;
      }>(`
        select h.origin, h.subscriptions, m.marked_at_ms as since_ms
        from (select origin, sum(subscriptions) as subscriptions from deskbell.held_marks
              group by origin having sum(subscriptions) > 0) h
        cross join lateral (select marked_at_ms from deskbell.gone_marks
                            where origin = h.origin and is_held order by marked_at_ms limit 1) m
        order by h.origin
      `);
      return rows.map(({ origin, subscriptions, since_ms }): HeldOrigin => ({
        origin,
        subscriptions,
        sinceMs: since_ms,
      }));
    },
    confirm: (origin) =>
      database.run(
        `delete from deskbell.subscriptions s using deskbell.gone_marks m
         where m.origin = $1 and m.is_held and s.endpoint_hash = m.endpoint_hash and s.id = m.subscription_id`,
        [origin],
      ),
    discard: (origin) =>
      database.run('delete from deskbell.gone_marks where origin = $1 and is_held', [origin]),
  };
}
