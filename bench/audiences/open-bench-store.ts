// A store by what stands in an argument: the URL of a PostgreSQL database, or the path of a file of SQLite.
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import type { Store } from '../../src/store/store.ts';

export const openBenchStore = (database: string): Promise<Store> =>
  database.startsWith('postgres://')
    ? openPostgresStore({ url: database })
    : openSqliteStore({ path: database });
