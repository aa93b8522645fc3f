// People in SQLite: user and tags of subscriptions.
import { checkTagCount } from '../../audience/user-and-tags.ts';
import type { PeopleStore } from '../people.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import { removePerson, type PersonColumns } from '../remove-person.ts';
import { createBroadcastFinisher } from './finish-broadcast.ts';
import type { SqliteDatabase } from './database.ts';
import type { NoValues } from './statement.ts';
import { createSubscriptionOwners } from './user-and-tags.ts';

export function createSqlitePeople(database: SqliteDatabase, portable: PortableDatabase): PeopleStore {
  const statements = prepareStatements(database);
  const owners = createSubscriptionOwners(database);
  const finish = createBroadcastFinisher(database);
  const columns: PersonColumns = {
    user: 'user',
    lock: '',
    isForAll: 'has_list = 0',
    hasEndpoint: 'm.endpoint = :endpoint',
    toEndpoint: String,
    finishIfOver: (broadcastId) => {
      finish.ifOver(broadcastId, database.now());
      return [];
    },
  };

  const changeTags: PeopleStore['changeTags'] = (id, { add = [], remove = [] }) =>
    database.write(() => {
      if (statements.find.first({ id }) === undefined) return false;
      for (const tag of remove) owners.removeTag(id, tag);
      for (const tag of add) owners.addTag(id, tag);
      checkTagCount(id, owners.tagsOf(id).length);
      return true;
    });

  return {
    assign: (id, userAndTags) => database.write(() => owners.assign(id, userAndTags)),
    signOut: (endpoint, auth) =>
      database.write(() => {
        const row = owners.findOwn(endpoint, auth);
        return row !== undefined && owners.assign(row.id, {});
      }),
    changeTags,
    countTags: () => database.read(() => statements.countTags.all({}).map((row) => ({ ...row }))),
    remove: (user) => removePerson(portable, user, columns),
  };
}

function prepareStatements(database: SqliteDatabase) {
  return {
    find: database.prepare<{ id: number }, { id: number }>('select id from subscriptions where id = :id'),
    countTags: database.prepare<NoValues, { tag: string; subscriptions: number }>(
      'select tag, count(*) as subscriptions from subscription_tags group by tag order by tag',
    ),
  };
}
