// In SQLite: marks subscriptions that a push service calls gone, and counts its other responses. See
// ../deletion-guard.ts.
import { normalizeEndpoint } from '../../protocol/endpoint.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { Recipient } from '../broadcasts.ts';
import { deletionGuardPolicy, type AnswerCounts, type JudgedAnswers } from '../deletion-guard.ts';
import type { SqliteDatabase } from './database.ts';

const { windowAnswers, judgedPages } = deletionGuardPolicy;

/** The responses of one push service. */
export interface NotedAnswers extends AnswerCounts {
  readonly origin: string;
  /** The responses to a page of a broadcast; absent for single messages. */
  readonly page?: JudgedAnswers | undefined;
  /** Subscriptions are found by id, or by keys if they have no id. */
  readonly gone: readonly (Subscription & Partial<Pick<Recipient, 'subscriptionId' | 'updatedAtMs'>>)[];
  readonly acceptedBy: readonly (Pick<Recipient, 'endpoint'> & Partial<Pick<Recipient, 'subscriptionId'>>)[];
}

/** @returns a function that records responses in a transaction, and returns whether to judge the `gone` marks now */
export function createAnswerNotes(database: SqliteDatabase): (noted: NotedAnswers) => boolean {
  const mark = (
    origin: string,
    window: number,
    { subscriptionId, updatedAtMs, endpoint, p256dh, auth }: NotedAnswers['gone'][number],
  ): void => {
    const marked = { origin, window, nowMs: database.now() };
    // a subscription that was renewed since it was read is not marked
    if (subscriptionId !== undefined && updatedAtMs !== undefined)
      database.run(markById, { ...marked, id: subscriptionId, updatedAtMs });
    else database.run(markByKeys, { ...marked, endpoint: normalizeEndpoint(endpoint), p256dh, auth });
  };

  return ({ origin, answers, accepted, page, gone, acceptedBy }) => {
    const isWindow =
      gone.length > 0 || (answers > 0 && database.first(selectWaiting, { origin }) !== undefined);
    if (isWindow) {
      database.run('insert into deletion_guards (origin) values (:origin) on conflict do nothing', {
        origin,
      });
      const { id: window } = database.first<{ id: number }>(
        `insert into answer_windows (origin, answers, accepted, is_of_pages, from_ms, marks_ms)
         values (:origin, :answers, :accepted, :isOfPages, :fromMs, :marksMs) returning id`,
        {
          origin,
          answers: page?.answers ?? answers,
          accepted: page?.accepted ?? accepted,
          isOfPages: page === undefined ? 0 : 1,
          fromMs: page?.fromMs ?? 0,
          marksMs: page?.marksMs ?? 0,
        },
      )!;
      for (const each of gone) mark(origin, window, each);
    }
    const other = isWindow ? page?.before : { answers, accepted };
    if (other !== undefined && other.answers > 0) database.run(countAnswers, { origin, ...other });
    if (acceptedBy.length > 0 && database.first(selectMarked, { origin }) !== undefined) {
      for (const { subscriptionId, endpoint } of acceptedBy) {
        if (subscriptionId !== undefined) database.run(unmarkById, { id: subscriptionId });
        else database.run(unmarkByEndpoint, { endpoint: normalizeEndpoint(endpoint) });
      }
    }
    if (!isWindow || page === undefined) return isWindow;
    const { pages } = database.first<{ pages: number }>(
      'select count(*) as pages from answer_windows where origin = :origin and number is null',
      { origin },
    )!;
    return pages >= judgedPages;
  };
}

const markWhere = (condition: string): string => `
  insert into gone_marks (subscription_id, origin, answer_window, marked_at_ms, updated_at_ms)
  select id, :origin, :window, :nowMs, updated_at_ms from subscriptions where ${condition}
  -- marked again: the new answer decides, the first mark's time stays
  on conflict (subscription_id) do update set origin = excluded.origin, answer_window = excluded.answer_window,
    updated_at_ms = excluded.updated_at_ms, is_held = 0`;
const markById = markWhere('id = :id and updated_at_ms = :updatedAtMs');
const markByKeys = markWhere('endpoint = :endpoint and p256dh = :p256dh and auth = :auth');

// keep only the latest responses: older ones say nothing about a subscription that is marked gone later
const countAnswers = `
  insert into uncounted_answers as u (origin, answers, accepted) values (:origin, :answers, :accepted)
  on conflict (origin, shard) do update set
    answers = excluded.answers + iif(u.answers < ${windowAnswers}, u.answers, 0),
    accepted = excluded.accepted + iif(u.answers < ${windowAnswers}, u.accepted, 0)`;

const selectMarked = 'select 1 from gone_marks where origin = :origin limit 1';
const selectWaiting = 'select 1 from gone_marks where origin = :origin and is_held = 0 limit 1';

const unmarkById = 'delete from gone_marks where subscription_id = :id';
const unmarkByEndpoint = `
  delete from gone_marks where subscription_id = (select id from subscriptions where endpoint = :endpoint)`;
