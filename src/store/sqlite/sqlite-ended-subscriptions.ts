// Ended subscriptions in SQLite. A trigger of the schema writes them, whoever deletes a subscription that is marked gone.
import type { EndedSubscription, EndedSubscriptions } from '../ended-subscriptions.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

interface EndedRow {
  readonly id: number;
  readonly endpoint: string;
  readonly gone_at_ms: number;
  readonly user: string | null;
}

export function createSqliteEndedSubscriptions(database: SqliteDatabase): EndedSubscriptions {
  const list = database.prepare<{ limit: number }, EndedRow>(
    'select id, endpoint, gone_at_ms, user from ended_subscriptions order by id limit :limit',
  );
  const remove = database.prepare<{ id: number }>('delete from ended_subscriptions where id = :id');

  return {
    list: (limit) =>
      database.read(() =>
        list.all({ limit }).map(({ id, endpoint, gone_at_ms, user }): EndedSubscription => ({
          id,
          endpoint,
          user: user ?? undefined,
          goneAtMs: gone_at_ms,
        })),
      ),
    remove: (ids) =>
      database.write(() => {
        for (const id of ids) remove.run({ id });
      }),
  };
}
