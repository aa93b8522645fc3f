// What came of a subscription in a broadcast, as it is shown: as JSON, and in words that answer "why did I not get it?".
import { lastBroadcasts } from '../delivery/broadcast/count-meanings.ts';
import { hostOf, isoTime } from '../delivery/broadcast/format-broadcast.ts';
import { meaningOf } from '../delivery/broadcast/reason-meanings.ts';
import { Type } from '../http/schema.ts';
import { rowStates, type AttemptRecord, type RowOutcome } from '../store/attempts.ts';
import { receiptEvents } from '../store/receipts.ts';
import { attemptView } from './attempt.ts';
import type { View } from './view.ts';

const moment = (description: string) => Type.String({ format: 'date-time', description });

/** What came of one subscription in one broadcast. */
export const rowOutcomeView: View<RowOutcome> = {
  schema: Type.Model(
    'RowOutcome',
    Type.Object({
      broadcastId: Type.Integer(),
      subscriptionId: Type.Integer(),
      user: Type.Optional(Type.String({ description: 'Absent: anonymous, or no longer stored.' })),
      pushService: Type.Optional(Type.String({ description: 'Origin.' })),
      state: Type.String({
        enum: [...rowStates],
        description:
          'An outcome; or `notInAudience`, `inactive` (left out by `skipInactive`), `preparing` (the audience is not complete), `pending` (its turn is still to come), `inFlight`, ' +
          '`waiting`, `removed` (before its turn), `cancelled`, `notTracked` (the broadcast is to a list of subscriptions that need ' +
          'not be stored, of which only sums are kept), `noLongerKept`.',
      }),
      explanation: Type.String({ description: 'The same in words, with those of the push service.' }),
      wait: Type.Optional(
        Type.Model(
          'RowWait',
          Type.Object(
            {
              for: Type.String({
                enum: ['pushService', 'retry', 'turn'],
                description: '`pushService`: it refuses our token or key. `turn`: nothing was sent yet.',
              }),
              until: Type.Optional(moment('Absent: this depends on the push service.')),
              expiresAt: moment('It is `expired` then.'),
              attempts: Type.Integer(),
            },
            { description: 'With `waiting`.' },
          ),
        ),
      ),
      attempts: Type.Array(attemptView.schema, { description: 'All of them, newest first.' }),
      receipts: Type.Optional(
        Type.Model(
          'RowReceipts',
          Type.Object(
            {
              kept: Type.Boolean({
                description: 'false: it is no longer known which subscription reported what.',
              }),
              events: Type.Array(Type.String({ enum: [...receiptEvents] })),
            },
            {
              description:
                'What the browser has reported; absent if the broadcast does not ask for receipts.',
            },
          ),
        ),
      ),
      deletionHeldSince: Type.Optional(
        moment('Its push service calls it gone; it is kept until an operator decides.'),
      ),
    }),
  ),
  example: {
    broadcastId: 7,
    subscriptionId: 17,
    user: '42',
    pushService: 'https://fcm.googleapis.com',
    state: 'rejected',
    explanation:
      'fcm.googleapis.com refused it with status 403 at 2027-01-01T09:00:01.250Z: “BadJwtToken”. The push service refuses our token.',
    attempts: [attemptView.example],
  },
  toJson: (outcome) => {
    const { broadcastId, subscriptionId, user, origin, state, wait, attempts, receipts, heldSinceMs } =
      outcome;
    return {
      broadcastId,
      subscriptionId,
      user,
      pushService: origin,
      state,
      explanation: explain(outcome),
      wait: wait && {
        for: wait.for,
        until: wait.untilMs === undefined ? undefined : isoTime(wait.untilMs),
        expiresAt: isoTime(wait.expiresAtMs),
        attempts: wait.attempts,
      },
      attempts: attempts.map(attemptView.toJson),
      receipts: receipts && {
        kept: receipts !== 'noLongerKept',
        events: receipts === 'noLongerKept' ? [] : receipts,
      },
      deletionHeldSince: heldSinceMs === undefined ? undefined : isoTime(heldSinceMs),
    };
  },
};

/** A part of an explanation: our words, a time, or a push service's own words. */
export type WordPart = string | { readonly atMs: number } | { readonly quoted: string };

/** The explanation as one text, with times in UTC. */
export const explain = (outcome: RowOutcome): string =>
  wordsOf(outcome)
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'atMs' in part ? isoTime(part.atMs) : `“${part.quoted}”`;
    })
    .join('');

/** What came of it, what it waits for, what the browser reported, and whether its deletion is held: a sentence each. */
export function wordsOf(outcome: RowOutcome): readonly WordPart[] {
  return [...stateWords(outcome), ...receiptWords(outcome), ...heldWords(outcome)];
}

function stateWords({ state, origin, attempts, wait, skipInactive = 0 }: RowOutcome): readonly WordPart[] {
  const [last] = attempts;
  const service = origin === undefined ? 'Its push service' : hostOf(origin);
  const at: readonly WordPart[] = last === undefined ? [] : [' at ', { atMs: last.atMs }];
  switch (state) {
    case 'accepted':
      return [`${service} accepted it`, ...at, `${tries(last)}.`];
    case 'gone':
      return [`${service} said that the subscription has ended`, ...at, ...answer(last)];
    case 'rejected':
      return last?.status === undefined
        ? ['It was not sent', ...at, ...answer(last)]
        : [`${service} refused it with status ${last.status}`, ...at, ...answer(last)];
    case 'expired':
      return ['Its time to live ended before it was accepted', ...at, ...answer(last)];
    case 'exhausted':
      return ['It was given up', ...at, ...answer(last)];
    case 'doubtful':
      return [
        'It is in doubt: it may have arrived, and no answer came that can be read',
        ...at,
        ...answer(last),
      ];
    case 'capped':
      return ['It was not sent, since the person had been reached often enough (frequency cap)', ...at, '.'];
    case 'waiting':
      return [...waitWords(service, wait), ...lastWords(last)];
    case 'inFlight':
      return ['It is being sent now.', ...lastWords(last)];
    case 'pending':
      return ['Nothing was sent yet: its turn is still to come.', ...lastWords(last)];
    case 'preparing':
      return ['The audience of the broadcast is not complete yet, and the subscription is not in it so far.'];
    case 'notInAudience':
      return ['It was not in the audience of the broadcast.'];
    case 'inactive':
      return [
        `It was left out, since its browser reported no click on ${lastBroadcasts(skipInactive)} shown there.`,
      ];
    case 'removed':
      return last === undefined
        ? [
            'It is not in the store, and nothing was sent to it: it was removed before its turn, or was not there when the broadcast was made.',
          ]
        : ['It was removed from the store before it could be tried again.', ...lastWords(last)];
    case 'cancelled':
      return ['It was not sent, since the broadcast was cancelled.', ...lastWords(last)];
    case 'notTracked':
      return [
        'The broadcast is to a list of subscriptions that need not be stored: what came of single ones is not kept.',
      ];
    case 'noLongerKept':
      return ['What came of single subscriptions is no longer kept for this broadcast.'];
  }
}

function waitWords(service: string, wait: RowOutcome['wait']): readonly WordPart[] {
  if (wait === undefined) return ['It waits to be sent.'];
  const until: readonly WordPart[] = wait.untilMs === undefined ? [] : [' at ', { atMs: wait.untilMs }];
  const end: readonly WordPart[] = [', and expires at ', { atMs: wait.expiresAtMs }, '.'];
  switch (wait.for) {
    case 'pushService':
      return [`It waits until ${service} accepts our token or key again`, ...end];
    case 'retry':
      return ['It is tried again', ...until, ...end];
    case 'turn':
      return [
        `Nothing was sent yet: its reader has quiet hours, ${service} cannot take messages now, or a rate limit is used up. It is tried`,
        ...until,
        ...end,
      ];
  }
}

/** Of a row that is not settled: what the last attempt came to. */
const lastWords = (last: AttemptRecord | undefined): readonly WordPart[] =>
  last === undefined ? [] : [' The last attempt: ', ...describeAttempt(last)];

/** What came of one attempt. */
export function describeAttempt(attempt: AttemptRecord): readonly WordPart[] {
  const { outcome, status, atMs } = attempt;
  return [`${outcome}${status === undefined ? '' : `, status ${status}`}, at `, { atMs }, ...said(attempt)];
}

const tries = (last: AttemptRecord | undefined): string =>
  last === undefined || last.attempt < 2 ? '' : ` after ${last.attempt} attempts`;

const answer = (last: AttemptRecord | undefined): readonly WordPart[] => [tries(last), ...said(last)];

/** The push service's own words, and what its reason means. */
function said({ reason, detail }: Partial<AttemptRecord> = {}): readonly WordPart[] {
  const meaning = reason === undefined ? '' : meaningOf(reason).meaning || reason;
  return [
    ...(detail === undefined ? ['.'] : [': ', { quoted: detail }, '.']),
    ...(meaning === '' ? [] : [` ${meaning}`]),
  ];
}

function receiptWords({ receipts, state }: RowOutcome): readonly WordPart[] {
  if (receipts === undefined || state !== 'accepted') return [];
  if (receipts === 'noLongerKept') return [' What its browser reported is no longer kept.'];
  if (receipts.length === 0) return [' Its browser has reported nothing.'];
  return [` Its browser reported: ${receiptEvents.filter((event) => receipts.includes(event)).join(', ')}.`];
}

const heldWords = ({ heldSinceMs }: RowOutcome): readonly WordPart[] =>
  heldSinceMs === undefined
    ? []
    : [' Its deletion is held since ', { atMs: heldSinceMs }, ' until an operator decides.'];
