// The database that tests use which are about something else: SQLite, unless a test file has chosen PostgreSQL for its process.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import { openStoreAt } from '../../src/store/open-store-at.ts';
import type { Store, StoreAddress } from '../../src/store/store.ts';
import type { SubscriptionLimit } from '../../src/store/subscriptions.ts';
import { useSharedServer, type TestDatabase } from '../../tools/postgres-server.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { createSqliteFile } from '../../tools/new-sqlite-file.ts';

let getPostgres: ReturnType<typeof useSharedServer> | undefined;

/** All tests of this process get databases in PostgreSQL. To be called in a test file, before others are imported. */
export function usePostgres(): void {
  getPostgres = useSharedServer();
}

export const databaseName = (): string => (getPostgres === undefined ? 'SQLite' : 'PostgreSQL');

/** An empty database in PostgreSQL, where it is used; `undefined` for SQLite, which needs none. */
export async function createTestDatabase(): Promise<TestDatabase | undefined> {
  return (await getPostgres?.())?.createDatabase();
}

export interface OpenedStore {
  readonly store: Store;
  /** Runs statements on the store's tables behind its back. */
  run(sql: string): Promise<void>;
  /** Closes the store and removes its database. */
  remove(): Promise<void>;
}

/** An empty store. @param now its clock */
export async function openTestStore(now?: () => number, limit?: SubscriptionLimit): Promise<OpenedStore> {
  const database = await createTestDatabase();
  return database === undefined ? openInSqlite(now, limit) : openInPostgres(database, now, limit);
}

async function openInSqlite(now?: () => number, limit?: SubscriptionLimit): Promise<OpenedStore> {
  const folder = mkdtempSync(join(fastFolder(), 'deskbell-store-'));
  const path = join(folder, 'deskbell.db');
  await createSqliteFile(path);
  const store = await openSqliteStore({ path, now, subscriptionLimit: limit });
  return {
    store,
    run: async (sql) => {
      using database = new DatabaseSync(path);
      database.exec(sql);
    },
    remove: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function openInPostgres(
  database: TestDatabase,
  now?: () => number,
  limit?: SubscriptionLimit,
): Promise<OpenedStore> {
  const store = await openPostgresStore({ url: database.url, now, subscriptionLimit: limit });
  return {
    store,
    run: (sql) => database.run(`set search_path to deskbell; ${sql}`),
    remove: async () => {
      await store.close();
      await database.remove();
    },
  };
}

/** The same store once more, as another process opens it. */
export async function openAgain(
  { address: { database, options } }: { readonly address: StoreAddress },
  now?: () => number,
): Promise<Store> {
  return openStoreAt({ database, options: { ...options, ...(now && { now }) } });
}
