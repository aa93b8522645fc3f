// The ledger in SQLite: reads the rows of slices, and commits what came of them.
import type { DatabaseSync } from 'node:sqlite';
import type { Ledger } from '../ledger.ts';
import type { GroupCommit } from './group-commit.ts';
import { createPageCommit } from './page-commit.ts';
import type { Read } from './read.ts';
import { createRecipients } from './recipients.ts';

export function createSqliteLedger(
  database: DatabaseSync,
  commits: GroupCommit,
  read: Read,
  now: () => number,
): Ledger {
  const recipients = createRecipients(database);
  const commitPage = createPageCommit(database, now);

  return {
    readRows: ({ broadcastId, throughPosition }, afterPosition, limit) =>
      read(() => recipients.page(broadcastId, afterPosition, throughPosition, limit)),
    commit: (page) => commits.write(() => commitPage(page)),
  };
}
