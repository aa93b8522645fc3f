// People in SQLite: user and tags of subscriptions.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkTagCount } from '../../audience/user-and-tags.ts';
import { checkOwnerChange, checkTagChange, type PeopleStore } from '../people.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import { createTagSample, type SampledRow } from '../tag-sample.ts';
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

  const samplePages = async (afterIds: readonly number[], limit: number) => {
    const found: SampledRow[] = [];
    for (const afterId of afterIds) {
      const page = await database.read(() => statements.samplePage.all({ afterId, limit }));
      found.push(...page.map(({ id, tags }) => ({ id, tags: JSON.parse(tags) as readonly string[] })));
      // one page in each turn of the event loop
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
        const changed = (user === undefined ? row.user : user) ?? undefined;
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
    sampleTags: createTagSample(portable, samplePages),
    remove: (user) => removePerson(portable, user, columns),
  };
}

function prepareStatements(database: SqliteDatabase) {
  return {
    find: database.prepare<{ id: number }, { user: string | null }>(
      'select user from subscriptions where id = :id',
    ),
    countTags: database.prepare<NoValues, { tag: string; subscriptions: number }>(
      'select tag, count(*) as subscriptions from subscription_tags group by tag order by tag',
    ),
    samplePage: database.prepare<{ afterId: number; limit: number }, { id: number; tags: string }>(`
      select s.id, (select json_group_array(tag) from subscription_tags where subscription_id = s.id) as tags
      from subscriptions s where s.id > :afterId order by s.id limit :limit
    `),
  };
}
