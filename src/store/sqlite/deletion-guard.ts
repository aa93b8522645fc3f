// Marks on subscriptions that their push service called gone, and what becomes of them: see ../held-deletions.ts.
//
// Answers of an origin are counted in windows of at least a hundred, by all workers and single sends together. Marks of a
// window are decided when the next window is complete, or when a broadcast ends: then nothing more comes for a while. Marks
// of single messages are decided at once.
import { normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { deletionGuardPolicy } from '../held-deletions.ts';
import type { SingleAnswers } from '../ledger.ts';
import type { SqliteDatabase } from './database.ts';

const { windowAnswers, answersPerAcceptance, fewMarks, minWindowAnswers } = deletionGuardPolicy;

interface AnswerWindow {
  readonly number: number;
  readonly answers: number;
  readonly accepted: number;
}

/** Everything here is to be called inside a transaction. */
export interface DeletionGuard {
  /** Marks the subscription, unless it was renewed since it was read. */
  mark(origin: string, id: number, updatedAtMs: number): void;
  /** The same for a subscription that is known by its contents. @returns whether it is stored */
  markByKeys(origin: string, subscription: Subscription): boolean;
  hasMarks(origin: string): boolean;
  unmark(id: number): void;
  unmarkByEndpoint(endpoint: string): void;
  /** Counts answers of the origin. @returns how many marks are held from now on */
  count(origin: string, answers: number, accepted: number): number;
  /** The same for answers to single messages, whose marks are made, cleared and decided here. */
  recordSingle(answers: SingleAnswers): void;
  /** Decides all marks of the origin: nothing more comes for a while. @returns how many are held from now on */
  decideAll(origin: string): number;
}

export function createDeletionGuard(database: SqliteDatabase): DeletionGuard {
  const statements = prepareStatements(database);

  const windowOf = (origin: string): AnswerWindow =>
    statements.lastWindow.first({ origin }) ?? { number: 0, answers: 0, accepted: 0 };

  /** The window is healthy, or inconclusive after one that is; its neighbours are healthy, or inconclusive. */
  const isReliable = (origin: string, number: number): boolean => {
    const [before, window, after] = [-1, 0, 1].map((offset) =>
      statements.findWindow.first({ origin, number: number + offset }),
    );
    if (window === undefined) return false;
    const isHealthyItself = isHealthy(window) || (isInconclusive(window) && !isInconclusive(before));
    return isHealthyItself && [before, after].every((each) => isInconclusive(each) || isHealthy(each));
  };

  const deleteFew = (origin: string): boolean => {
    const { marks = 0, deleted = 0 } = statements.countFew.first({ origin }) ?? {};
    if (marks + deleted >= fewMarks) return false;
    const rows = statements.deleteMarked.run({ origin, first: 0, last: Number.MAX_SAFE_INTEGER });
    if (rows > 0) statements.addFew.run({ origin, rows });
    return true;
  };

  /** Decides the marks of windows up to `last`. */
  const decide = (origin: string, last: number): number => {
    const windows = statements.markedWindows.all({ origin, last });
    if (windows.length === 0 || deleteFew(origin)) return 0;
    let held = 0;
    for (const { number } of windows) {
      if (isReliable(origin, number)) statements.deleteMarked.run({ origin, first: number, last: number });
      else held += statements.hold.run({ origin, number });
    }
    return held;
  };

  const markByKeys: DeletionGuard['markByKeys'] = (origin, { endpoint, p256dh, auth }) => {
    const { number } = windowOf(origin);
    const nowMs = database.now();
    const contents = { endpoint: normalizeEndpoint(endpoint), p256dh, auth };
    return statements.markByKeys.run({ origin, number, nowMs, ...contents }) > 0;
  };

  const hasMarks: DeletionGuard['hasMarks'] = (origin) => statements.hasMarks.first({ origin }) !== undefined;

  const unmarkByEndpoint: DeletionGuard['unmarkByEndpoint'] = (endpoint) => {
    statements.unmarkByEndpoint.run({ endpoint: normalizeEndpoint(endpoint) });
  };

  const count: DeletionGuard['count'] = (origin, answers, accepted) => {
    const { number } = windowOf(origin);
    const window = statements.addAnswers.first({ origin, number, answers, accepted });
    if (window === undefined) throw new Error('The answers were not counted.');
    if (accepted > 0 && isHealthy(window)) statements.resetFew.run({ origin });
    if (window.answers < windowAnswers) return 0;
    const held = decide(origin, number - 1);
    statements.openWindow.run({ origin, number: number + 1 });
    statements.dropWindows.run({ origin, before: number - 1 });
    return held;
  };

  return {
    mark: (origin, id, updatedAtMs) => {
      const { number } = windowOf(origin);
      statements.mark.run({ origin, number, nowMs: database.now(), id, updatedAtMs });
    },
    markByKeys,
    hasMarks,
    unmark: (id) => {
      statements.unmark.run({ id });
    },
    unmarkByEndpoint,
    count,
    recordSingle: ({ origin, accepted, gone, other, goneSubscriptions, acceptedEndpoints }) => {
      const answers = accepted + gone + other;
      if (answers === 0) return;
      const { number } = windowOf(origin);
      const marked = goneSubscriptions.filter((subscription) => markByKeys(origin, subscription)).length;
      if (hasMarks(origin)) acceptedEndpoints.forEach(unmarkByEndpoint);
      count(origin, answers, accepted);
      if (marked === 0) return;
      // it may be long until the next answers
      const window = statements.findWindow.first({ origin, number });
      if (!deleteFew(origin) && window !== undefined && !isHealthy(window))
        statements.hold.run({ origin, number });
    },
    decideAll: (origin) => {
      const held = decide(origin, Number.MAX_SAFE_INTEGER);
      // what comes next, perhaps days later, is decided by itself
      const number = windowOf(origin).number + 1;
      statements.openWindow.run({ origin, number });
      statements.dropWindows.run({ origin, before: number });
      return held;
    },
  };
}

const isInconclusive = (window: AnswerWindow | undefined): window is undefined =>
  window === undefined || window.answers < minWindowAnswers;

const isHealthy = ({ answers, accepted }: AnswerWindow): boolean =>
  accepted * answersPerAcceptance >= answers;

function prepareStatements(database: SqliteDatabase) {
  const mark = `
    insert into gone_marks (subscription_id, origin, answer_window, marked_at_ms)
    select id, :origin, :number, :nowMs from subscriptions
  `;
  // marked again: the new answer is decided, the first mark's time stays
  const markAgain = `
    on conflict (subscription_id) do update set
      origin = excluded.origin, answer_window = excluded.answer_window, is_held = 0
  `;

  return {
    mark: database.prepare<{
      origin: string;
      number: number;
      nowMs: number;
      id: number;
      updatedAtMs: number;
    }>(`${mark} where id = :id and updated_at_ms = :updatedAtMs ${markAgain}`),
    markByKeys: database.prepare<{
      origin: string;
      number: number;
      nowMs: number;
      endpoint: string;
      p256dh: Uint8Array;
      auth: Uint8Array;
    }>(`${mark} where endpoint = :endpoint and p256dh = :p256dh and auth = :auth ${markAgain}`),
    hasMarks: database.prepare<{ origin: string }, { subscription_id: number }>(
      'select subscription_id from gone_marks where origin = :origin limit 1',
    ),
    unmark: database.prepare<{ id: number }>('delete from gone_marks where subscription_id = :id'),
    unmarkByEndpoint: database.prepare<{ endpoint: string }>(`
      delete from gone_marks
      where subscription_id = (select id from subscriptions where endpoint = :endpoint)
    `),
    // bounded: a million marks are not counted at each commit
    countFew: database.prepare<{ origin: string }, { marks: number; deleted: number }>(`
      select (select count(*) from (select 1 from gone_marks where origin = :origin limit ${fewMarks})) as marks,
             coalesce((select rows from few_deletions where origin = :origin), 0) as deleted
    `),
    addFew: database.prepare<{ origin: string; rows: number }>(`
      insert into few_deletions (origin, rows) values (:origin, :rows)
      on conflict (origin) do update set rows = rows + excluded.rows
    `),
    resetFew: database.prepare<{ origin: string }>('delete from few_deletions where origin = :origin'),
    markedWindows: database.prepare<{ origin: string; last: number }, { number: number }>(`
      select distinct answer_window as number from gone_marks
      where origin = :origin and is_held = 0 and answer_window <= :last
    `),
    deleteMarked: database.prepare<{ origin: string; first: number; last: number }>(`
      delete from subscriptions where id in (
        select subscription_id from gone_marks
        where origin = :origin and is_held = 0 and answer_window between :first and :last
      )
    `),
    hold: database.prepare<{ origin: string; number: number }>(`
      update gone_marks set is_held = 1
      where origin = :origin and is_held = 0 and answer_window = :number
    `),
    lastWindow: database.prepare<{ origin: string }, AnswerWindow>(`
      select number, answers, accepted from answer_windows
      where origin = :origin order by number desc limit 1
    `),
    findWindow: database.prepare<{ origin: string; number: number }, AnswerWindow>(
      'select number, answers, accepted from answer_windows where origin = :origin and number = :number',
    ),
    openWindow: database.prepare<{ origin: string; number: number }>(
      'insert into answer_windows (origin, number, answers, accepted) values (:origin, :number, 0, 0)',
    ),
    addAnswers: database.prepare<
      { origin: string; number: number; answers: number; accepted: number },
      AnswerWindow
    >(`
      insert into answer_windows (origin, number, answers, accepted)
      values (:origin, :number, :answers, :accepted)
      on conflict (origin, number) do update set
        answers = answers + excluded.answers, accepted = accepted + excluded.accepted
      returning number, answers, accepted
    `),
    dropWindows: database.prepare<{ origin: string; before: number }>(
      'delete from answer_windows where origin = :origin and number < :before',
    ),
  };
}
