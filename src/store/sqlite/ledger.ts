// The ledger in SQLite: reads the rows of slices, and commits what came of them.
import { countSingleAnswers, type Ledger, type SingleAnswers } from '../ledger.ts';
import { idsAfter } from '../slices.ts';
import { judgeMarks } from '../deletion-guard.ts';
import type { PortableDatabase } from '../portable-sql.ts';
import { createAnswerNotes, type NotedAnswers } from './gone-marks.ts';
import { createOutcomeCounts } from './outcome-counts.ts';
import { createPageCommit } from './commit-page.ts';
import { createFrequencyCaps, createPageReader } from './read-page.ts';
import { createPushServices } from './push-services.ts';
import type { SqliteDatabase } from './database.ts';
import { runWork } from './portable-database.ts';

export function createSqliteLedger(database: SqliteDatabase, portable: PortableDatabase): Ledger {
  const recipients = createPageReader(database);
  const noteAnswers = createAnswerNotes(database);
  const pushServices = createPushServices(database);
  const outcomes = createOutcomeCounts(database);
  const caps = createFrequencyCaps(database);
  const commitPage = createPageCommit(database, portable, pushServices, caps);

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
          if (noteAnswers(toNoted(told))) runWork(database, judgeMarks(portable, told.origin, 'single'));
          outcomes.add({ origin: told.origin, ...countSingleAnswers(told) });
        }
        return pushServices.states();
      }),
    pushServices: () => database.read(() => pushServices.states()),
  };
}

const toNoted = ({
  origin,
  accepted,
  gone,
  other,
  goneSubscriptions,
  acceptedEndpoints,
}: SingleAnswers): NotedAnswers => ({
  origin,
  answers: accepted + gone + other,
  accepted,
  gone: goneSubscriptions,
  acceptedBy: acceptedEndpoints.map((endpoint) => ({ endpoint })),
});
