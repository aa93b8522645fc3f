// People in PostgreSQL: user and tags of subscriptions. What is deleted leaves the database's files with its next vacuum.
import { checkTagCount } from '../../audience/user-and-tags.ts';
import { checkOwnerChange, checkTagChange, type PeopleStore } from '../people.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import { createSampler, type FoundRow } from '../subscription-sample.ts';
import { removePerson, type PersonColumns } from '../remove-person.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import type { PostgresDatabase } from './database.ts';

/** @param functions the schema of the database's functions */
export function createPostgresPeople(
  database: PostgresDatabase,
  portable: PortableDatabase,
  functions: string,
): PeopleStore {
  const columns: PersonColumns = {
    hasEndpoint: 'm.endpoint_hash = :endpoint',
    toEndpoint: hashEndpoint,
  };

  return {
    assign: async (id, change) => {
      const { user, tags } = checkOwnerChange(change);
      const changed = await database.query(
        `update deskbell.subscriptions set user_name = case when $2 then $3 else user_name end,
           tags = case when $4 then ${functions}.read_tags($5::jsonb) else tags end
         where id = $1 returning id`,
        [id, user !== undefined, user ?? null, tags !== undefined, JSON.stringify(tags ?? [])],
      );
      return changed.length > 0;
    },

    signOut: async (endpoint, auth) => {
      const changed = await database.query(
        `update deskbell.subscriptions set user_name = null, tags = null
         where endpoint_hash = $1 and ${functions}.is_same_secret(auth, $2) returning id`,
        [hashEndpoint(endpoint), Buffer.from(auth)],
      );
      return changed.length > 0;
    },

    changeTags: async (id, change) => {
      const { add, remove } = checkTagChange(change);
      return database.transaction(async (query) => {
        const [row] = await query<{ readonly tags: readonly string[] | null }>(
          'select tags from deskbell.subscriptions where id = $1 for update',
          [id],
        );
        if (row === undefined) return false;
        const kept = (row.tags ?? []).filter((tag) => !remove.includes(tag));
        const tags = [...new Set([...kept, ...add])];
        checkTagCount(id, tags.length);
        await query(
          `update deskbell.subscriptions set tags = ${functions}.read_tags($2::jsonb) where id = $1`,
          [id, JSON.stringify(tags)],
        );
        return true;
      });
    },

    countTags: () =>
      database.query<{ readonly tag: string; readonly subscriptions: number }>(`
        select tag, count(*) as subscriptions
        from deskbell.subscriptions s cross join unnest(s.tags) tag
        where s.tags is not null group by tag order by tag collate "C"
      `),

    sample: createSampler(portable, async (ids, limit) => {
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
    }),

    remove: (user) => removePerson(portable, user, columns),
  };
}
