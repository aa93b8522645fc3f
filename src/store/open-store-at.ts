// Opens a store again, in another thread or process, from its address.
import type { PostgresStoreOptions } from './postgres/open-store.ts';
import type { SqliteStoreOptions } from './sqlite/open-store.ts';
import type { Store, StoreAddress } from './store.ts';

/** @throws {DeskbellError} the errors of `openSqliteStore` and `openPostgresStore` */
export async function openStoreAt({ database, options }: StoreAddress): Promise<Store> {
  if (database === 'sqlite') {
    const { openSqliteStore } = await import('./sqlite/open-store.ts');
    return openSqliteStore(options as SqliteStoreOptions);
  }
  const { openPostgresStore } = await import('./postgres/open-store.ts');
  return openPostgresStore(options as PostgresStoreOptions);
}
