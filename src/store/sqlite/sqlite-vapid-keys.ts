// The public halves of VAPID pairs in SQLite.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { StoredVapidKey, VapidKeyState, VapidKeyStore } from '../vapid-keys.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { NoValues } from './statement.ts';

export function createSqliteVapidKeys(database: SqliteDatabase): VapidKeyStore {
  const statements = prepareStatements(database);

  const inState = (state: VapidKeyState): string | undefined =>
    statements.findByState.first({ state })?.public_key;
  const setState = (publicKey: string, state: VapidKeyState): void => {
    statements.setState.run({ publicKey, state });
  };
  /** One key at a time is `next` or `current`. */
  const replace = (state: 'next' | 'current', publicKey: string, formerState: VapidKeyState): void => {
    const former = inState(state);
    if (former === publicKey) return;
    if (former !== undefined) setState(former, formerState);
    setState(publicKey, state);
  };

  return {
    list: () =>
      database.read(() =>
        statements.list.all({}).map(({ public_key, state }): StoredVapidKey => ({
          publicKey: public_key,
          state: state ?? undefined,
        })),
      ),

    current: () => database.read(() => inState('current')),

    countSubscriptions: () =>
      database.read(
        () => new Map(statements.count.all({}).map(({ public_key, count }) => [public_key, count])),
      ),

    adopt: async (publicKey) => {
      const known = await database.read(() => inState('current'));
      if (known !== undefined) return known;
      return database.write(() => {
        const current = inState('current') ?? publicKey;
        replace('current', current, 'previous');
        return current;
      });
    },

    prepare: (publicKey) =>
      database.write(() => {
        const next = inState('next') ?? publicKey;
        replace('next', next, 'retired');
        return next;
      }),

    makeCurrent: (publicKey) => database.write(() => replace('current', publicKey, 'previous')),

    retire: (publicKey, { force }) =>
      database.write(() => {
        if (inState('current') === publicKey) {
          throw new DeskbellError('ERR_KEY_IN_USE', `The key ${publicKey} is the current one.`);
        }
        const count = statements.countOf.first({ publicKey })?.count ?? 0;
        if (count === 0 || force) setState(publicKey, 'retired');
        return count;
      }),

    replaceAll: (publicKey) =>
      database.write(() => {
        statements.retireAll.run({});
        setState(publicKey, 'current');
      }),
  };
}

function prepareStatements(database: SqliteDatabase) {
  return {
    list: database.prepare<NoValues, { public_key: string; state: VapidKeyState | null }>(
      'select public_key, state from vapid_keys order by id',
    ),
    findByState: database.prepare<{ state: VapidKeyState }, { public_key: string }>(
      'select public_key from vapid_keys where state = :state',
    ),
    setState: database.prepare<{ publicKey: string; state: VapidKeyState }>(`
        insert into vapid_keys (public_key, state) values (:publicKey, :state)
        on conflict (public_key) do update set state = excluded.state
      `),
    retireAll: database.prepare<NoValues>("update vapid_keys set state = 'retired' where state is not null"),
    count: database.prepare<NoValues, { public_key: string; count: number }>(
      'select public_key, subscriptions as count from vapid_keys where subscriptions > 0',
    ),
    countOf: database.prepare<{ publicKey: string }, { count: number }>(
      'select subscriptions as count from vapid_keys where public_key = :publicKey',
    ),
  };
}
