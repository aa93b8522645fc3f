// The deletion guard decides whether to delete subscriptions that their push service calls gone. A bug or a proxy that
// answers "gone" to everything must not empty the store. So `gone` only marks a subscription, and the push service's
// other responses decide:
//
//   marked → deleted   the origin accepted at least 5 % of the responses before, at and after the time of the mark,
//                      or fewer than 20 of its subscriptions are marked
//   marked → held      otherwise: an operator confirms or discards the deletion (held-deletions.ts)
//   marked, held → unmarked   a message to the subscription is accepted, or the subscription is registered again
//
// A marked subscription counts as gone, but stays in later audiences.
//
// A commit does not wait for other transactions. It adds the responses of its page, from the first mark on, as a
// *window* without a number. If no marks are waiting, it only adds to counts. A second transaction, one at a time for
// each origin, numbers the windows, merges small ones, and judges the marks. A window is only healthy if messages that
// were sent with its marked messages, or later, were accepted. Responses counted while marks wait may be older, and
// are ignored.
import { isAnswer, type RowResult } from './ledger.ts';
import { changeRows, run, type PortableDatabase, type Work } from './portable-sql.ts';

export const deletionGuardPolicy = {
  /** Responses to single messages are judged in windows of at least this size. Each page of a broadcast is a window. */
  windowAnswers: 100,
  /** One in this many responses (5 %) must be an acceptance. */
  answersPerAcceptance: 20,
  /** If fewer subscriptions than this are marked, they are deleted whatever the origin's other responses are. */
  fewMarks: 20,
  /** A window with fewer responses is inconclusive, so such windows are merged. */
  minWindowAnswers: 20,
  /** Marked subscriptions are judged after this many pages of a broadcast, or when the broadcast ends. */
  judgedPages: 8,
} as const;

const { windowAnswers, answersPerAcceptance, fewMarks, minWindowAnswers } = deletionGuardPolicy;

export interface AnswerCounts {
  readonly answers: number;
  readonly accepted: number;
}

/** One push service's responses to a page of messages. */
export interface JudgedAnswers extends AnswerCounts {
  /** Responses to messages that were sent earlier than any message to a gone subscription. */
  readonly before: AnswerCounts;
  /** When the first message that counts as accepted was sent. */
  readonly fromMs: number;
  /** When the last message to a gone subscription was sent. */
  readonly marksMs: number;
}

/**
 * Counts responses by origin. An acceptance counts only if its message was sent after the first message to a gone
 * subscription. If many subscriptions are gone, half of the messages to them must have been sent before. The reason is
 * that a push service may begin to call everything gone in the middle of a page, and responses come out of order.
 */
export function judgeAnswers(rows: readonly RowResult[]): ReadonlyMap<string, JudgedAnswers> {
  const judged = new Map<string, JudgedAnswers>();
  for (const [origin, ofOrigin] of Map.groupBy(rows, (row) => row.origin)) {
    const hasGone = ofOrigin.some(({ result }) => result === 'gone');
    const sent = hasGone ? ofOrigin.toSorted((one, other) => sentAt(one) - sentAt(other)) : ofOrigin;
    const gone = sent.flatMap(({ result }, index) => (result === 'gone' ? [index] : []));
    const first = gone[0] ?? 0;
    const middle = gone.length < fewMarks ? first : gone[Math.floor(gone.length / 2)]!;
    const accepted = sent.slice(middle).filter(isAccepted);
    judged.set(origin, {
      answers: sent.slice(first).filter(isAnswer).length,
      accepted: accepted.length,
      before: {
        answers: sent.slice(0, first).filter(isAnswer).length,
        accepted: sent.slice(0, first).filter(isAccepted).length,
      },
      fromMs: accepted.reduce((least, row) => Math.min(least, sentAt(row)), Number.MAX_SAFE_INTEGER),
      marksMs: gone.length === 0 ? 0 : sentAt(sent[gone.at(-1)!]!),
    });
  }
  return judged;
}

const sentAt = ({ record }: RowResult): number => record?.atMs ?? 0;

const isAccepted = ({ result }: RowResult): boolean => result === 'accepted';

/**
 * Responses to a page of messages, or to single messages that were stored together: a row of `answer_windows`, or
 * counts that belong to no window yet.
 */
interface WindowRow extends AnswerCounts {
  /** Undefined if the window is not stored. */
  readonly id: number | undefined;
  /** Null until `judgeMarks` sees the window for the first time. */
  readonly number: number | null;
  /** 1 if the messages belong to a broadcast, 0 if they are single messages. */
  readonly is_of_pages: number;
  /** When the first accepted message was sent, and when the last message to a gone subscription was sent. */
  readonly from_ms: number;
  readonly marks_ms: number;
  /** True if the window has marked subscriptions that are neither deleted nor held yet. */
  readonly has_marks: number | boolean;
}

/** Responses that are judged as a whole, to decide about the subscriptions that they call gone. */
interface Window extends AnswerCounts {
  readonly isOfPages: boolean;
  readonly fromMs: number;
  readonly marksMs: number;
  /** The windows that were merged into this window. */
  readonly parts: readonly WindowRow[];
}

/** @param counts used instead of the row's own counts */
const toWindow = (row: WindowRow, counts: AnswerCounts = row): Window => ({
  answers: counts.answers,
  accepted: counts.accepted,
  isOfPages: Boolean(row.is_of_pages),
  fromMs: row.from_ms,
  marksMs: row.marks_ms,
  parts: [row],
});

const join = (last: Window, next: Window): Window => ({
  answers: last.answers + next.answers,
  accepted: last.accepted + next.accepted,
  isOfPages: last.isOfPages,
  fromMs: Math.min(last.fromMs, next.fromMs),
  marksMs: Math.max(last.marksMs, next.marksMs),
  parts: [...last.parts, ...next.parts],
});

const isNew = ({ number }: WindowRow): boolean => number === null;
const hasMarks = ({ parts }: Window): boolean => parts.some((part) => part.has_marks);
const hasNewSingleMarks = ({ parts }: Window): boolean =>
  parts.some((part) => isNew(part) && part.is_of_pages === 0 && part.has_marks);
const hasNewAcceptances = ({ parts }: Window): boolean =>
  parts.some((part) => isNew(part) && part.accepted > 0);

/**
 * When marked subscriptions are judged. `pages`: after some pages of a broadcast, unless another transaction is judging
 * them. `single`: after single messages. `over`: after a whole broadcast.
 */
export type JudgedAfter = 'pages' | 'single' | 'over';

/**
 * Decides which marked subscriptions of an origin to delete, and which to hold for an operator. Others stay marked for
 * now. Run it as `PortableDatabase.background`.
 *
 * @returns how many subscriptions are newly held
 */
export function* judgeMarks(database: PortableDatabase, origin: string, after: JudgedAfter): Work<number> {
  const lock = after === 'pages' ? database.skipLocked : database.forUpdate;
  const [guard] = yield* run<{ readonly few_deleted: number }>(
    `select few_deleted from deskbell.deletion_guards where origin = :origin ${lock}`,
    { origin },
  );
  if (guard === undefined) return 0;
  const counted = yield* takeUncounted(database, origin);
  const rows = yield* run<WindowRow>(
    `select id, number, answers, accepted, is_of_pages, from_ms, marks_ms, exists (
       select 1 from deskbell.gone_marks m
       where m.origin = w.origin and m.is_held = false and m.answer_window = w.id) as has_marks
     from deskbell.answer_windows w where origin = :origin
     order by number is null, number, id`,
    { origin },
  );
  const windows = lineUp(rows, counted);
  const ids = yield* storeWindows(origin, windows);
  const few = windows.some((window) => hasNewAcceptances(window) && isHealthy(window))
    ? 0
    : guard.few_deleted;

  const lastComplete = windows.findLastIndex(
    ({ answers, isOfPages }) => answers >= (isOfPages ? minWindowAnswers : windowAnswers),
  );
  const isDue = (window: Window, index: number): boolean =>
    hasMarks(window) &&
    (after === 'over' ||
      index < lastComplete ||
      // the next responses may arrive only after a long time
      (hasNewSingleMarks(window) && !isHealthy(window)));
  const due = windows.flatMap((window, index) => (isDue(window, index) ? [index] : []));
  const mayDeleteFew = due.length > 0 || windows.some(hasNewSingleMarks);
  const deletedFew = mayDeleteFew ? yield* deleteFew(database, origin, few) : undefined;
  if (few + (deletedFew ?? 0) !== guard.few_deleted) {
    yield* run('update deskbell.deletion_guards set few_deleted = :rows where origin = :origin', {
      origin,
      rows: few + (deletedFew ?? 0),
    });
  }
  let held = 0;
  if (deletedFew === undefined && due.length > 0) {
    const isTrusted = (index: number): boolean =>
      (after === 'over' || index < lastComplete) && isReliable(windows, index);
    const [trusted, doubted] = [due.filter(isTrusted), due.filter((index) => !isTrusted(index))];
    const idsOf = (indexes: readonly number[]): readonly number[] => indexes.map((index) => ids[index]!);
    const isInWindows = database.isOneOf('answer_window', 'windows');
    if (trusted.length > 0) yield* deleteMarked(database, isInWindows, { origin, windows: idsOf(trusted) });
    if (doubted.length > 0) {
      held = yield* changeRows(
        `update deskbell.gone_marks set is_held = true
         where origin = :origin and is_held = false and ${isInWindows}`,
        { origin, windows: idsOf(doubted) },
      );
    }
  }
  // during a broadcast, keep the last windows, with which later ones are compared; after the broadcast, delete them,
  // because the next window may be days later
  const past = windows.flatMap((window, index) => {
    const isJudged = deletedFew !== undefined || !hasMarks(window) || due.includes(index);
    return isJudged && (after === 'over' || index < windows.length - 3) ? [ids[index]!] : [];
  });
  if (past.length > 0)
    yield* run(`delete from deskbell.answer_windows where ${database.isOneOf('id', 'past')}`, { past });
  return held;
}

/** Deletes the counted responses of broadcasts that are over, except counts that are being written. */
export function* dropUncounted(
  database: PortableDatabase,
  origins: string,
  values: { broadcastId: number },
): Work<void> {
  yield* run(
    `delete from deskbell.uncounted_answers where (origin, shard) in (
       select origin, shard from deskbell.uncounted_answers where origin in (${origins}) ${database.skipLocked})`,
    values,
  );
}

function* takeUncounted({ skipLocked }: PortableDatabase, origin: string): Work<AnswerCounts> {
  // rows that are being written now are handled next time
  const rows = yield* run<AnswerCounts>(
    `delete from deskbell.uncounted_answers where origin = :origin and shard in (
       select shard from deskbell.uncounted_answers where origin = :origin ${skipLocked})
     returning answers, accepted`,
    { origin },
  );
  return {
    answers: rows.reduce((sum, { answers }) => sum + answers, 0),
    accepted: rows.reduce((sum, { accepted }) => sum + accepted, 0),
  };
}

/** Puts numbered windows first, then the counted responses, then windows without a number. */
function lineUp(rows: readonly WindowRow[], counted: AnswerCounts): readonly Window[] {
  const windows = rows.filter((row) => !isNew(row)).map((row) => toWindow(row));
  const add = (next: Window): void => {
    const last = windows.at(-1);
    if (last !== undefined && mayJoin(last, next)) windows.splice(-1, 1, join(last, next));
    else windows.push(next);
  };
  const accepted = windows.some(hasMarks) ? 0 : counted.accepted;
  const answers = counted.answers - counted.accepted + accepted;
  if (answers > 0) {
    const noWindow = {
      id: undefined,
      number: null,
      is_of_pages: 0,
      from_ms: 0,
      marks_ms: 0,
      has_marks: false,
    };
    add(toWindow({ ...noWindow, answers, accepted }));
  }
  for (const row of rows.filter(isNew)) {
    // ignore acceptances if their messages are older than a message to a subscription that is still marked
    const isLate =
      !row.has_marks && windows.some((window) => hasMarks(window) && window.marksMs > row.from_ms);
    add(toWindow(row, isLate ? { answers: row.answers - row.accepted, accepted: 0 } : row));
  }
  return windows;
}

function mayJoin(last: Window, next: Window): boolean {
  if (!last.isOfPages) return !next.isOfPages && last.answers < windowAnswers;
  if (!next.isOfPages) return next.accepted === 0 && !hasMarks(next);
  if (!hasMarks(last)) return !hasMarks(next);
  const speaksForLast = next.accepted === 0 || next.fromMs >= last.marksMs;
  // older acceptances must not justify deletions in a later window that has enough responses of its own
  const speaksForNext = !hasMarks(next) || last.accepted === 0 || next.answers < minWindowAnswers;
  return last.answers < minWindowAnswers && speaksForLast && speaksForNext;
}

/** Stores windows: gives new windows the next numbers, and turns joined windows into one row. @returns the ids */
function* storeWindows(origin: string, windows: readonly Window[]): Work<readonly number[]> {
  const ids: number[] = [];
  let number = 0;
  for (const { parts, answers, accepted, marksMs } of windows) {
    number = parts[0]!.number ?? number + 1;
    const [known, ...joined] = parts.flatMap((part) => part.id ?? []);
    const values = { answers, accepted, number };
    let id = known;
    if (id === undefined) {
      const [made] = yield* run<{ readonly id: number }>(
        `insert into deskbell.answer_windows (origin, number, answers, accepted, is_of_pages)
         values (:origin, :number, :answers, :accepted, 0) returning id`,
        { origin, ...values },
      );
      id = made!.id;
    } else if (parts.some(isNew)) {
      yield* run(
        `update deskbell.answer_windows set number = :number, answers = :answers, accepted = :accepted, marks_ms = :marksMs where id = :id`,
        { id, ...values, marksMs },
      );
    }
    ids.push(id);
    for (const part of joined) {
      yield* run(
        `update deskbell.gone_marks set answer_window = :id
         where origin = :origin and is_held = false and answer_window = :part`,
        { origin, id, part },
      );
      yield* run('delete from deskbell.answer_windows where id = :part', { part });
    }
  }
  return ids;
}

/** Deletes the marked subscriptions if there are few. Returns how many; undefined if there are too many to delete. */
function* deleteFew(database: PortableDatabase, origin: string, deleted: number): Work<number | undefined> {
  // stop counting once there are too many marks, because there may be a million
  const [marks] = yield* run<{ readonly rows: number }>(
    `select count(*) as rows from (
       select 1 from deskbell.gone_marks where origin = :origin limit ${fewMarks}) m`,
    { origin },
  );
  if (marks!.rows + deleted >= fewMarks) return undefined;
  return yield* deleteMarked(database, 'true', { origin });
}

const deleteMarked = (
  { markedRow }: PortableDatabase,
  condition: string,
  values: { origin: string; windows?: readonly number[] },
): Work<number> =>
  changeRows(
    `delete from deskbell.subscriptions where (${markedRow.subscription}) in (
       select ${markedRow.mark} from deskbell.gone_marks
       where origin = :origin and is_held = false and ${condition})`,
    values,
  );

/**
 * True if the window is healthy, or inconclusive right after a healthy window, and neither window next to it is
 * unhealthy.
 */
function isReliable(windows: readonly AnswerCounts[], index: number): boolean {
  const window = windows[index]!;
  const [before, after] = [windows[index - 1], windows[index + 1]];
  const isHealthyItself = isHealthy(window) || (isInconclusive(window) && !isInconclusive(before));
  return isHealthyItself && [before, after].every((each) => isInconclusive(each) || isHealthy(each));
}

const isInconclusive = (window: AnswerCounts | undefined): window is undefined =>
  window === undefined || window.answers < minWindowAnswers;

const isHealthy = ({ answers, accepted }: AnswerCounts): boolean =>
  accepted * answersPerAcceptance >= answers;
