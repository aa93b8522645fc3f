// Reads the windows of a sample in SQLite, some of them in each turn of the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FoundRow, FoundWindow, ReadWindows } from '../subscription-sample.ts';
import type { SqliteDatabase } from './database.ts';

const windowsPerTurn = 10;

type Around = Readonly<Record<'id' | 'limit', number>>;

export function createWindowReader(database: SqliteDatabase): ReadWindows {
  const statements = {
    idsUpTo: database.prepare<Around, { id: number }>(
      'select id from subscriptions where id <= :id order by id desc limit :limit',
    ),
    rowsBehind: database.prepare<Around, Omit<FoundRow, 'tags'> & { readonly tags: string }>(`
      select s.id, s.endpoint, s.user_name as "user",
        (select json_group_array(tag) from subscription_tags where subscription_id = s.id) as tags
      from subscriptions s where s.id > :id order by s.id limit :limit
    `),
  };

  const readWindow = (id: number, limit: number): FoundWindow => ({
    before: statements.idsUpTo
      .all({ id, limit })
      .map((row) => row.id)
      .toReversed(),
    rows: statements.rowsBehind
      .all({ id, limit })
      .map((row) => ({ ...row, tags: JSON.parse(row.tags) as FoundRow['tags'] })),
  });
  return async (ids, limit) => {
    const found: FoundWindow[] = [];
    for (let from = 0; from < ids.length; from += windowsPerTurn) {
      const some = ids.slice(from, from + windowsPerTurn);
      found.push(...(await database.read(() => some.map((id) => readWindow(id, limit)))));
      await nextTurn();
    }
    return found;
  };
}
