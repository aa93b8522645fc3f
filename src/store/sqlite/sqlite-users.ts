// The example API's users in SQLite; ids are int64 and stay `bigint` all the way.
import type { DatabaseSync } from 'node:sqlite';
import type { UserStore } from '../store.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Read } from './read.ts';
import { parameter, prepare, queries } from './statement.ts';

export function createSqliteUsers(database: DatabaseSync, commits: GroupCommit, read: Read): UserStore {
  const find = prepare(
    database,
    queries.selectFrom('users').select(['id', 'name', 'email']).where('id', '=', parameter<bigint>('id')),
    { bigints: true },
  );
  const update = prepare(
    database,
    queries
      .updateTable('users')
      .set({ name: parameter<string>('name'), email: parameter<string>('email') })
      .where('id', '=', parameter<bigint>('id')),
  );

  return {
    find: (id) =>
      read(() => {
        const row = find.first({ id });
        return row && { id: row.id, name: row.name, email: row.email };
      }),
    update: ({ id, name, email }) => commits.write(() => update.run({ id, name, email }) > 0),
  };
}
