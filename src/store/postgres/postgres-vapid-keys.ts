// The public halves of VAPID pairs in PostgreSQL.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { StoredVapidKey, VapidKeyState, VapidKeyStore } from '../vapid-keys.ts';
import type { PostgresDatabase, Query } from './postgres-database.ts';

export function createPostgresVapidKeys(database: PostgresDatabase): VapidKeyStore {
  /** Changes come one after the other; registrations go on. */
  const change = <Result>(work: (query: Query) => Promise<Result>): Promise<Result> =>
    database.transaction(async (query) => {
      await query(`select pg_advisory_xact_lock(hashtext('deskbell keys'), 0)`);
      return work(query);
    });

  return {
    list: async () => {
      const rows = await database.query<{
        readonly public_key: string;
        readonly state: VapidKeyState | null;
      }>('select public_key, state from deskbell.vapid_keys order by id');
      return rows.map(({ public_key, state }): StoredVapidKey => ({
        publicKey: public_key,
        state: state ?? undefined,
      }));
    },

    current: () => inState(database.query, 'current'),

    countSubscriptions: async () => {
      const rows = await database.query<{ readonly public_key: string; readonly count: number }>(`
        select v.public_key, sum(c.subscriptions) as count
        from deskbell.subscription_counts c join deskbell.vapid_keys v on v.id = c.vapid_key_id
        group by v.public_key having sum(c.subscriptions) > 0
      `);
      return new Map(rows.map(({ public_key, count }) => [public_key, count]));
    },

    adopt: async (publicKey) => {
      const known = await inState(database.query, 'current');
      if (known !== undefined) return known;
      return change(async (query) => {
        const current = (await inState(query, 'current')) ?? publicKey;
        await replace(query, 'current', current, 'previous');
        return current;
      });
    },

    prepare: (publicKey) =>
      change(async (query) => {
        const next = (await inState(query, 'next')) ?? publicKey;
        await replace(query, 'next', next, 'retired');
        return next;
      }),

    makeCurrent: (publicKey) => change((query) => replace(query, 'current', publicKey, 'previous')),

    retire: (publicKey, { force }) =>
      change(async (query) => {
        if ((await inState(query, 'current')) === publicKey) {
          throw new DeskbellError('ERR_KEY_IN_USE', `The key ${publicKey} is the current one.`);
        }
        const [row] = await query<{ readonly count: number }>(
          `select coalesce(sum(subscriptions), 0) as count from deskbell.subscription_counts
           where vapid_key_id = (select id from deskbell.vapid_keys where public_key = $1)`,
          [publicKey],
        );
        const count = row?.count ?? 0;
        if (count === 0 || force) await setState(query, publicKey, 'retired');
        return count;
      }),

    replaceAll: (publicKey) =>
      change(async (query) => {
        await query("update deskbell.vapid_keys set state = 'retired' where state is not null");
        await setState(query, publicKey, 'current');
      }),
  };
}

async function inState(query: Query, state: VapidKeyState): Promise<string | undefined> {
  const [row] = await query<{ readonly public_key: string }>(
    'select public_key from deskbell.vapid_keys where state = $1',
    [state],
  );
  return row?.public_key;
}

async function setState(query: Query, publicKey: string, state: VapidKeyState): Promise<void> {
  await query(
    `insert into deskbell.vapid_keys (public_key, state) values ($1, $2)
     on conflict (public_key) do update set state = excluded.state`,
    [publicKey, state],
  );
}

/** One key at a time is `next` or `current`. */
async function replace(
  query: Query,
  state: 'next' | 'current',
  publicKey: string,
  formerState: VapidKeyState,
): Promise<void> {
  const former = await inState(query, state);
  if (former === publicKey) return;
  if (former !== undefined) await setState(query, former, formerState);
  await setState(query, publicKey, state);
}
