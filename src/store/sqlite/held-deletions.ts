// Held deletions in SQLite, as an operator sees them.
import type { HeldDeletions } from '../held-deletions.ts';
import type { SqliteDatabase } from './database.ts';
import type { NoValues } from './statement.ts';

export function createSqliteHeldDeletions(database: SqliteDatabase): HeldDeletions {
  const list = database.prepare<NoValues, { origin: string; subscriptions: number; since_ms: number }>(
    'select origin, subscriptions, since_ms from held_origins order by origin',
  );
  const confirm = database.prepare<{ origin: string }>(`
    delete from subscriptions
    where id in (select subscription_id from gone_marks where origin = :origin and is_held = 1)
  `);
  const discard = database.prepare<{ origin: string }>(
    'delete from gone_marks where origin = :origin and is_held = 1',
  );

  return {
    list: () =>
      database.read(() =>
        list.all({}).map(({ origin, subscriptions, since_ms }) => ({
          origin,
          subscriptions,
          sinceMs: since_ms,
        })),
      ),
    confirm: (origin) => database.write(() => confirm.run({ origin })),
    discard: (origin) => database.write(() => discard.run({ origin })),
  };
}
