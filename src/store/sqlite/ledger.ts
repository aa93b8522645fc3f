// The ledger in SQLite: reads the rows of slices, and commits what came of them.
import { countSingleAnswers, type Ledger } from '../ledger.ts';
import { idsAfter } from '../slices.ts';
import { createDeletionGuard } from './deletion-guard.ts';
import { createOutcomeCounts } from './outcome-counts.ts';
import { createPageCommit } from './commit-page.ts';
import { createFrequencyCaps } from './frequency-cap.ts';
import { createPushServices } from './push-services.ts';
import { createPageReader } from './read-page.ts';
import type { SqliteDatabase } from './database.ts';

export function createSqliteLedger(database: SqliteDatabase): Ledger {
  const recipients = createPageReader(database);
  const marks = createDeletionGuard(database);
  const pushServices = createPushServices(database);
  const outcomes = createOutcomeCounts(database);
  const caps = createFrequencyCaps(database);
  const commitPage = createPageCommit(database, pushServices, caps);

  return {
    readRows: ({ broadcastId, throughPosition, members, broadcast }, afterPosition, limit) => {
      const page = () =>
        members === undefined
          ? recipients.page(broadcastId, afterPosition, throughPosition, limit)
          : recipients.byIds(idsAfter(members, afterPosition), limit);
      if (broadcast.perPerson === undefined) return database.read(page);
      return database.write(() => caps.reserve(broadcast, page()));
    },
    commit: (page) => database.write(() => commitPage(page)),
    recordAnswers: ({ origins, answers = [] }) =>
      database.write(() => {
        pushServices.record(answers, database.now());
        for (const told of origins) {
          marks.recordSingle(told);
          outcomes.add({ origin: told.origin, ...countSingleAnswers(told) });
        }
        return pushServices.states();
      }),
    pushServices: () => database.read(() => pushServices.states()),
  };
}
