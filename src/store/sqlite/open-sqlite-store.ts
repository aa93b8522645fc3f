// The embedded store: one SQLite file, any number of processes.
import { statfsSync, statSync } from 'node:fs';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Store } from '../store.ts';
import { openConnection } from './connection.ts';
import { GroupCommit } from './group-commit.ts';
import { createRead } from './read.ts';
import { createSqliteBroadcasts } from './sqlite-broadcasts.ts';
import { createSqliteLedger } from './sqlite-ledger.ts';
import { createSqliteSubscriptions } from './sqlite-subscriptions.ts';
import { createSqliteUsers } from './sqlite-users.ts';
import { createSqliteWorkSource } from './sqlite-work-source.ts';

export interface SqliteStoreOptions {
  /** The database file; made where there is none. Its folder must exist. */
  readonly path: string;
  /** The clock, milliseconds since 1970. */
  readonly now?: () => number;
}

// below this a commit is likely to fail soon
const leastFreeBytes = 1024 * 1024;

/**
 * Opens the store in a SQLite file.
 *
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW
 */
export async function openSqliteStore({ path, now = Date.now }: SqliteStoreOptions): Promise<Store> {
  const database = await openConnection(path);
  const { ino } = statSync(path);
  const commits = new GroupCommit(database, path);
  const read = createRead(path);
  let isClosed = false;

  return {
    subscriptions: createSqliteSubscriptions(database, commits, read, now),
    users: createSqliteUsers(database, commits, read),
    broadcasts: createSqliteBroadcasts(database, commits, read, now),
    work: createSqliteWorkSource(database, commits, read, now),
    ledger: createSqliteLedger(database, commits, read, now),
    address: { moduleUrl: import.meta.url, options: { path } satisfies SqliteStoreOptions },

    check: async () => {
      refuseReplacedFile(path, ino);
      refuseFullDisk(path);
      await commits.write(() => database.exec('select count(*) from users'));
    },

    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await commits.close();
      database.close();
    },
  };
}

/** For other threads, by `Store.address`. */
export const openStore = openSqliteStore;

/** A database that was deleted or replaced under us would go on taking rows that nobody will ever see. */
function refuseReplacedFile(path: string, ino: number): void {
  const present = statSync(path, { throwIfNoEntry: false });
  if (present?.ino === ino) return;
  throw new DeskbellError(
    'ERR_STORE_UNAVAILABLE',
    `The database ${path} has been ${present === undefined ? 'deleted' : 'replaced'} since it was opened.`,
  );
}

function refuseFullDisk(path: string): void {
  const { bavail, bsize } = statfsSync(path);
  if (bavail * bsize >= leastFreeBytes) return;
  throw new DeskbellError('ERR_STORE_UNAVAILABLE', `The disk of the database ${path} is full.`);
}
