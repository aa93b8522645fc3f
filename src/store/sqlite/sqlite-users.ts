// The example API's users in SQLite; ids are int64 and stay `bigint` all the way.
import type { DatabaseSync } from 'node:sqlite';
import type { UserStore } from '../store.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Read } from './read.ts';
import { prepare } from './statement.ts';

export function createSqliteUsers(database: DatabaseSync, commits: GroupCommit, read: Read): UserStore {
  const find = prepare<{ id: bigint }, { id: bigint; name: string; email: string }>(
    database,
    'select id, name, email from users where id = :id',
    { bigints: true },
  );
  const update = prepare<{ id: bigint; name: string; email: string }>(
    database,
    'update users set name = :name, email = :email where id = :id',
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
