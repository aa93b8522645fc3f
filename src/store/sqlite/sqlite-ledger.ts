// The ledger in SQLite: reads the rows of slices, and commits what came of them.
import type { Ledger } from '../ledger.ts';
import { createPageCommit } from './page-commit.ts';
import { createRecipients } from './recipients.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

export function createSqliteLedger(database: SqliteDatabase): Ledger {
  const recipients = createRecipients(database);
  const commitPage = createPageCommit(database);

  return {
    readRows: ({ broadcastId, throughPosition }, afterPosition, limit) =>
      database.read(() => recipients.page(broadcastId, afterPosition, throughPosition, limit)),
    commit: (page) => database.write(() => commitPage(page)),
  };
}
