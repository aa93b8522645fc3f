// Opens a store another time, in another thread or process, by the address that it has.
import type { PostgresStoreOptions } from './postgres/open-store.ts';
import type { SqliteStoreOptions } from './sqlite/open-store.ts';
import type { Store, StoreAddress } from './store.ts';

/** @throws {DeskbellError} as `openSqliteStore` and `openPostgresStore` do */
export async function openStoreAt({ database, options }: StoreAddress): Promise<Store> {
  if (database === 'sqlite') {
    const { openSqliteStore } = await import('./sqlite/open-store.ts');
    return openSqliteStore(options as SqliteStoreOptions);
  }
  const { openPostgresStore } = await import('./postgres/open-store.ts');
  return openPostgresStore(options as PostgresStoreOptions);
}
