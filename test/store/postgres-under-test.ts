// What the suites of stores are given for PostgreSQL: a database for each store.
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import type { StoreUnderTest } from './store-under-test.ts';

/** To be called in a test file, not in a hook. */
export function preparePostgres(): () => Promise<StoreUnderTest> {
  const getServer = useSharedServer();
  return async () => {
    let database: TestDatabase | undefined;
    return {
      open: async (now, subscriptionLimit) => {
        database ??= await (await getServer()).createDatabase();
        return openPostgresStore({ url: database.url, now, subscriptionLimit });
      },
      remove: async () => database?.remove(),
    };
  };
}
