// The example API's users in SQLite; ids are int64 and stay `bigint` all the way.
import type { UserStore } from '../store.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

export function createSqliteUsers(database: SqliteDatabase): UserStore {
  const find = database.prepare<{ id: bigint }, { id: bigint; name: string; email: string }>(
    'select id, name, email from users where id = :id',
    { bigints: true },
  );
  const update = database.prepare<{ id: bigint; name: string; email: string }>(
    'update users set name = :name, email = :email where id = :id',
  );

  return {
    find: (id) =>
      database.read(() => {
        const row = find.first({ id });
        return row && { id: row.id, name: row.name, email: row.email };
      }),
    update: ({ id, name, email }) => database.write(() => update.run({ id, name, email }) > 0),
  };
}
