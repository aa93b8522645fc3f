// The ledger in SQLite: reads the rows of slices, and commits what came of them.
import type { Ledger } from '../ledger.ts';
import { createGoneMarks } from './gone-marks.ts';
import { createPageCommit } from './page-commit.ts';
import { createRecipients } from './recipients.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

export function createSqliteLedger(database: SqliteDatabase): Ledger {
  const recipients = createRecipients(database);
  const marks = createGoneMarks(database);
  const commitPage = createPageCommit(database);

  return {
    readRows: ({ broadcastId, throughPosition }, afterPosition, limit) =>
      database.read(() => recipients.page(broadcastId, afterPosition, throughPosition, limit)),
    commit: (page) => database.write(() => commitPage(page)),
    recordAnswer: ({ subscription, origin, answer }) =>
      database.write(() => {
        const id = answer === 'gone' ? marks.markByKeys(origin, subscription) : undefined;
        if (answer === 'accepted') marks.unmarkByEndpoint(subscription.endpoint);
        marks.count(origin, 1, answer === 'accepted' ? 1 : 0);
        if (id === undefined) return 'kept';
        return marks.deleteFew(origin) || !marks.isMarked(id) ? 'deleted' : 'marked';
      }),
  };
}
