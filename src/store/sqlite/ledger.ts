// The ledger in SQLite: reads the rows of slices, and commits what came of them.
import type { Ledger } from '../ledger.ts';
import { noOutcomes } from '../outcome-columns.ts';
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
    readRows: ({ broadcastId, throughPosition, broadcast }, afterPosition, limit) => {
      const page = () => recipients.page(broadcastId, afterPosition, throughPosition, limit);
      if (broadcast.perPerson === undefined) return database.read(page);
      return database.write(() => caps.reserve(broadcast, page()));
    },
    commit: (page) => database.write(() => commitPage(page)),
    recordAnswer: ({ subscription, origin, vapidPublicKey, answer, waitMs }) =>
      database.write(() => {
        const [accepted, refusalsInRow] = [Number(answer === 'accepted'), Number(answer === 'refused')];
        const hasRefused = answer === 'refused';
        const answers = { origin, vapidPublicKey, accepted, hasRefused, refusalsInRow, waitMs };
        pushServices.record([answers], database.now());
        const id = answer === 'gone' ? marks.markByKeys(origin, subscription) : undefined;
        if (answer === 'accepted') marks.unmarkByEndpoint(subscription.endpoint);
        if (!hasRefused) marks.count(origin, 1, accepted);
        const gone = Number(answer === 'gone');
        outcomes.add({ ...noOutcomes, origin, attempts: 1, accepted, gone, rejected: refusalsInRow });
        if (id === undefined) return 'kept';
        marks.decideSingle(origin);
        return marks.isMarked(id) ? 'marked' : 'deleted';
      }),
    pushServices: () => database.read(() => pushServices.states()),
  };
}
