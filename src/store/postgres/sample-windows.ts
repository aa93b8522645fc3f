// Reads the windows of a sample in PostgreSQL, all of them by one statement.
import type { FoundRow, ReadWindows } from '../subscription-sample.ts';
import type { PostgresDatabase } from './database.ts';

export const createWindowReader =
  (database: PostgresDatabase): ReadWindows =>
  async (ids, limit) => {
    const found = await database.query<FoundRow & { readonly draw: number; readonly isBehind: boolean }>(
      `select w.draw::int, s.* from unnest($1::bigint[]) with ordinality w (id, draw) cross join lateral (
           (select id, false as "isBehind", '' as endpoint, null as "user", null as tags
            from deskbell.subscriptions where id <= w.id order by id desc limit $2)
           union all
           (select id, true, endpoint, user_name, coalesce(tags, '{}')
            from deskbell.subscriptions where id > w.id order by id limit $2)
         ) s order by s.id`,
      [ids, limit],
    );
    const windows = ids.map(() => ({ before: [] as number[], rows: [] as FoundRow[] }));
    for (const { draw, isBehind, ...row } of found) {
      const { before, rows } = windows[draw - 1]!;
      if (isBehind) rows.push(row);
      else before.push(row.id);
    }
    return windows;
  };
