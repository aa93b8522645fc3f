// The database that tests use which are about something else: SQLite, unless a test file has chosen PostgreSQL for its process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { Store, StoreAddress } from '../../src/store/store.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and removes its database. */
  remove(): Promise<void>;
}

type OpenStore = (now?: () => number) => Promise<OpenedStore>;

let openStore: OpenStore = async (now) => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-store-'));
  const store = await openSqliteStore({ path: join(folder, 'deskbell.db'), now });
  return {
    store,
    remove: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
};

/** To be called before any store is opened. */
export function useDatabase(open: OpenStore): void {
  openStore = open;
}

/** An empty store. @param now its clock */
export const openTestStore: OpenStore = (now) => openStore(now);

/** The same store once more, as another process opens it. */
export async function openAgain({ address }: { readonly address: StoreAddress }): Promise<Store> {
  const { openStore: open } = (await import(address.moduleUrl)) as {
    openStore(options: unknown): Promise<Store>;
  };
  return open(address.options);
}
