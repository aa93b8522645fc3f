// The tests of broadcasts once more, with a store in PostgreSQL: each file that is imported adds its own. Those of faults
// between sender and push service are left out, where the store is asked nothing that it is not asked here.
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { useSharedServer } from '../store/postgres-server.ts';
import { useDatabase } from '../store/test-database.ts';

const getServer = useSharedServer();

useDatabase(async (now) => {
  const database = await (await getServer()).createDatabase();
  const store = await openPostgresStore({ url: database.url, now });
  return {
    store,
    remove: async () => {
      await store.close();
      await database.remove();
    },
  };
});

await import('./broadcast.test.ts');
await import('./crash.test.ts');
await import('./faults-meanwhile.test.ts');
await import('./gone-hook.test.ts');
await import('./held-deletions.test.ts');
await import('./receipts.test.ts');
await import('./refusals.test.ts');
