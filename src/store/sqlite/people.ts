// People in SQLite: user and tags of subscriptions.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkTagCount } from '../../audience/user-and-tags.ts';
import { checkOwnerChange, checkTagChange, type PeopleStore } from '../people.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import { createSampler, type FoundRow, type FoundWindow } from '../subscription-sample.ts';
import { removePerson, type PersonColumns } from '../remove-person.ts';
import type { SqliteDatabase } from './database.ts';
import type { NoValues } from './statement.ts';
import { createSubscriptionOwners } from './user-and-tags.ts';

/** Of the event loop. */
const windowsPerTurn = 10;

type Around = Readonly<Record<'id' | 'limit', number>>;

export function createSqlitePeople(database: SqliteDatabase, portable: PortableDatabase): PeopleStore {
  const statements = prepareStatements(database);
  const owners = createSubscriptionOwners(database);
  const columns: PersonColumns = {
    hasEndpoint: 'm.endpoint = :endpoint',
    toEndpoint: String,
  };

  const changeTags: PeopleStore['changeTags'] = async (id, change) => {
    const { add, remove } = checkTagChange(change);
    return database.write(() => {
      if (statements.find.first({ id }) === undefined) return false;
      for (const tag of remove) owners.removeTag(id, tag);
      for (const tag of add) owners.addTag(id, tag);
      checkTagCount(id, owners.tagsOf(id).length);
      return true;
    });
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
  const readWindows = async (ids: readonly number[], limit: number) => {
    const found: FoundWindow[] = [];
    for (let from = 0; from < ids.length; from += windowsPerTurn) {
      const some = ids.slice(from, from + windowsPerTurn);
      found.push(...(await database.read(() => some.map((id) => readWindow(id, limit)))));
      await nextTurn();
    }
    return found;
  };

  return {
    assign: async (id, change) => {
      const { user, tags } = checkOwnerChange(change);
      return database.write(() => {
        const row = statements.find.first({ id });
        if (row === undefined) return false;
        const changed = (user === undefined ? row.user_name : user) ?? undefined;
        return owners.assign(id, { user: changed, tags: tags ?? owners.tagsOf(id) });
      });
    },
    signOut: (endpoint, auth) =>
      database.write(() => {
        const row = owners.findOwn(endpoint, auth);
        return row !== undefined && owners.assign(row.id, {});
      }),
    changeTags,
    countTags: () => database.read(() => statements.countTags.all({}).map((row) => ({ ...row }))),
    sample: createSampler(portable, readWindows),
    remove: (user) => removePerson(portable, user, columns),
  };
}

function prepareStatements(database: SqliteDatabase) {
  return {
    find: database.prepare<{ id: number }, { user_name: string | null }>(
      'select user_name from subscriptions where id = :id',
    ),
    countTags: database.prepare<NoValues, { tag: string; subscriptions: number }>(
      'select tag, count(*) as subscriptions from subscription_tags group by tag order by tag',
    ),
    idsUpTo: database.prepare<Around, { id: number }>(
      'select id from subscriptions where id <= :id order by id desc limit :limit',
    ),
    rowsBehind: database.prepare<Around, Omit<FoundRow, 'tags'> & { readonly tags: string }>(`
      select s.id, s.endpoint, s.user_name as "user",
        (select json_group_array(tag) from subscription_tags where subscription_id = s.id) as tags
      from subscriptions s where s.id > :id order by s.id limit :limit
    `),
  };
}
