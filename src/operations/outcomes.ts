// What happened to each subscription in a broadcast: its attempts, and its outcome as JSON, as CSV (RFC 4180), and in
// sentences that answer "why did I not get it?". Endpoints and keys are left out.
import { lastBroadcasts, meaningOf } from '../delivery/broadcast/meanings.ts';
import { isoTime, isoTimeOf } from '../delivery/broadcast/format-broadcast.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import { Optional, Type } from '../http/schema.ts';
import {
  attemptOutcomes,
  type AttemptRecord,
  type AttemptStore,
  type RowOutcome,
  type RowWait,
  rowStates,
} from '../store/attempts.ts';
import { receiptEvents } from '../store/receipts.ts';
import type { View } from './operation.ts';
import { pushServiceName } from '../protocol/known-push-services.ts';

export const attemptView: View<AttemptRecord> = {
  schema: Type.Named('Attempt', {
    id: Type.Integer(),
    broadcastId: Type.Integer(),
    subscriptionId: Type.Integer(),
    since: Type.Time('The attempt was made after this time.'),
    at: Type.Time('The time at which the result was stored.'),
    origin: Type.String({ description: 'Origin of the push service.' }),
    attempt: Type.Integer({
      description:
        'The number of the attempt; the first attempt is 1. If nothing was sent, the number of earlier attempts.',
    }),
    outcome: Type.String({ enum: [...attemptOutcomes], examples: ['rejected'] }),
    status: Optional.Integer({
      description: 'HTTP status. Absent if there was no response.',
      examples: [403],
    }),
    reason: Optional.String(),
    detail: Optional.String({ description: 'The push service’s own words.' }),
  }),
  toJson: ({ sinceMs, atMs, ...attempt }) => ({ since: isoTime(sinceMs), at: isoTime(atMs), ...attempt }),
};

export const rowOutcomeView: View<RowOutcome> = {
  schema: Type.Named('RowOutcome', {
    broadcastId: Type.Integer(),
    subscriptionId: Type.Integer(),
    user: Optional.String({ description: 'Absent if the subscription is anonymous or no longer stored.' }),
    pushService: Optional.String({ description: 'Origin of the push service.' }),
    state: Type.String({
      enum: [...rowStates],
      examples: ['rejected'],
      description:
        'An outcome; or `notInAudience`, `inactive`, `channelOff`, `timePassed` (left out because of `skipInactive`, the channel, or a local time that had passed), `preparing` (the audience is not complete), `pending` (the subscription’s turn has not come), `inFlight`, ' +
        '`waiting`, `removed` (before its turn), `cancelled`, `notTracked` (the broadcast is to a list of subscriptions that need ' +
        'not be stored, so only counts are stored), `noLongerKept`.',
    }),
    explanation: Type.String({
      description: 'An explanation in words, with the push service’s own words.',
      examples: [
        'fcm.googleapis.com refused it with status 403 at 2027-01-01T09:00:00.000Z: “BadJwtToken”. The push service refuses our token.',
      ],
    }),
    wait: Optional.Named(
      'RowWait',
      {
        for: Type.String({
          enum: ['pushService', 'retry', 'localTime', 'turn'],
          description:
            '`pushService`: the push service refuses our token or key. `localTime`: the message waits for the reader’s local time, or for the end of quiet hours. `turn`: nothing was sent yet.',
        }),
        until: Optional.Time('The end of the wait. Absent if it depends on the push service.'),
        expiresAt: Type.Time('The message is `expired` at this time.'),
        attempts: Type.Integer(),
      },
      { description: 'What the message waits for. Only in the state `waiting`.' },
    ),
    attempts: Type.Array(attemptView.schema, { description: 'All attempts, newest first.' }),
    receipts: Optional.Named(
      'RowReceipts',
      {
        kept: Type.Boolean({
          description: '`false` if reports are no longer kept for each subscription.',
        }),
        events: Type.Array(Type.String({ enum: [...receiptEvents] })),
      },
      {
        description: 'The browser’s reports; absent if the broadcast does not ask for receipts.',
      },
    ),
    deletionHeldSince: Optional.Time(
      'The push service calls the subscription gone; it is kept until an operator decides.',
    ),
  }),
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
        until: isoTimeOf(wait.untilMs),
        expiresAt: isoTime(wait.expiresAtMs),
        attempts: wait.attempts,
      },
      attempts: attempts.map(attemptView.toJson),
      receipts: receipts && {
        kept: receipts !== 'noLongerKept',
        events: receipts === 'noLongerKept' ? [] : receipts,
      },
      deletionHeldSince: isoTimeOf(heldSinceMs),
    };
  },
};

/** A part of an explanation: our words, a time, or a push service's own words. */
export type WordPart = string | { readonly atMs: number } | { readonly quoted: string };

/** The explanation as a string, with times in UTC. */
export const explain = (outcome: RowOutcome): string => textOf(wordsOf(outcome));

export const textOf = (parts: readonly WordPart[]): string =>
  parts
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'atMs' in part ? isoTime(part.atMs) : `“${part.quoted}”`;
    })
    .join('');

/** Sentences about an outcome: what the row waits for, what the browser reported, and whether its deletion is held. */
export function wordsOf(outcome: RowOutcome): readonly WordPart[] {
  return [...stateWords(outcome), ...receiptWords(outcome), ...heldWords(outcome)];
}

function stateWords(outcome: RowOutcome): readonly WordPart[] {
  const { state, origin, attempts, wait, isLater, skipInactive = 0 } = outcome;
  const [last] = attempts;
  const service = origin === undefined ? 'Its push service' : pushServiceName(origin);
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
    case 'dormant':
      return [
        `${service} does not take it, and nobody has listed it: the message`,
        ...(wait === undefined
          ? [' waited outside the broadcast, and was dropped']
          : [' waits, but the broadcast does not. It is tried again', ...untilWords(wait), ' at the latest']),
        ...endWords(wait),
        ...lastWords(last),
      ];
    case 'waiting':
      return [...waitWords(service, wait), ...lastWords(last)];
    case 'inFlight':
      return ['It is being sent now.', ...lastWords(last)];
    case 'pending':
      return ['Nothing was sent yet: its turn is still to come.', ...lastWords(last)];
    case 'preparing':
      return ['The audience of the broadcast is not complete yet, and the subscription is not in it so far.'];
    case 'notInAudience':
      return [
        isLater
          ? 'It was not in the audience of the broadcast: it was registered later.'
          : 'It was not in the audience of the broadcast: it did not belong to those whom it was for.',
      ];
    case 'channelOff':
      return ['It was left out, since its reader has the channel off.'];
    case 'timePassed':
      return ['It was left out, since the local time of its reader was over.'];
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
  const until = untilWords(wait);
  const end = endWords(wait);
  switch (wait.for) {
    case 'pushService':
      return [`It waits until ${service} accepts our token or key again`, ...end];
    case 'retry':
      return ['It is tried again', ...until, ...end];
    case 'localTime':
      return [
        'It waits for the time of its reader, or the end of their quiet hours. It is sent',
        ...until,
        ...end,
      ];
    case 'turn':
      return [
        `Nothing was sent yet: ${service} cannot take messages now, or a rate limit is used up. It is tried`,
        ...until,
        ...end,
      ];
  }
}

const untilWords = ({ untilMs }: RowWait): readonly WordPart[] =>
  untilMs === undefined ? [] : [' at ', { atMs: untilMs }];

const endWords = (wait: RowWait | undefined): readonly WordPart[] =>
  wait === undefined ? ['.'] : [', and expires at ', { atMs: wait.expiresAtMs }, '.'];

/** The result of the last attempt, for a row without a final outcome. */
const lastWords = (last: AttemptRecord | undefined): readonly WordPart[] =>
  last === undefined ? [] : [' The last attempt: ', ...describeAttempt(last)];

export function describeAttempt(attempt: AttemptRecord): readonly WordPart[] {
  const { outcome, status, atMs } = attempt;
  return [`${outcome}${status === undefined ? '' : `, status ${status}`}, at `, { atMs }, ...said(attempt)];
}

const tries = (last: AttemptRecord | undefined): string =>
  last === undefined || last.attempt < 2 ? '' : ` after ${last.attempt} attempts`;

const answer = (last: AttemptRecord | undefined): readonly WordPart[] => [tries(last), ...said(last)];

/** Quotes the push service's explanation, and says what the reason means. */
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

type Cell = string | number | undefined;

const columns = {
  subscription: ({ subscriptionId }: RowOutcome): Cell => subscriptionId,
  user: ({ user }: RowOutcome): Cell => user,
  push_service: ({ origin }: RowOutcome): Cell => origin,
  state: ({ state }: RowOutcome): Cell => state,
  status: ({ attempts: [last] }: RowOutcome): Cell => last?.status,
  reason: ({ attempts: [last] }: RowOutcome): Cell => last?.reason,
  answer: ({ attempts: [last] }: RowOutcome): Cell => last?.detail,
  attempts: ({ attempts: [last], wait }: RowOutcome): Cell => last?.attempt ?? wait?.attempts ?? 0,
  last_attempt_at: ({ attempts: [last] }: RowOutcome): Cell => isoTimeOf(last?.atMs),
  waits_for: ({ wait }: RowOutcome): Cell => wait?.for,
  waits_until: ({ wait }: RowOutcome): Cell => isoTimeOf(wait?.untilMs),
  expires_at: ({ wait }: RowOutcome): Cell => isoTimeOf(wait?.expiresAtMs),
  reported: ({ receipts }: RowOutcome): Cell =>
    typeof receipts === 'object' ? receipts.join(' ') : receipts,
  deletion_held_since: ({ heldSinceMs }: RowOutcome): Cell => isoTimeOf(heldSinceMs),
} as const;

export const csvContentType = 'text/csv; charset=utf-8';

/** `broadcast-7-outcomes.csv` */
export const csvFileName = (broadcastId: number): string => `broadcast-${broadcastId}-outcomes.csv`;

/** The number of ids per read, which takes a few milliseconds. */
const idsAtOnce = 2000;

/** Reads the outcomes of a broadcast in batches, in order of ids. The next batch is read when it is requested. */
export async function* readOutcomes(
  attempts: Pick<AttemptStore, 'outcomesAfter'>,
  broadcastId: number,
): AsyncGenerator<readonly RowOutcome[]> {
  for (let afterId: number | undefined = 0; afterId !== undefined;) {
    const page = await attempts.outcomesAfter(broadcastId, { afterId, ids: idsAtOnce });
    if (page.outcomes.length > 0) yield page.outcomes;
    afterId = page.next;
  }
}

export const csvHeader = `${Object.keys(columns).join(',')}\r\n`;

export const toCsv = (outcomes: readonly RowOutcome[]): string =>
  outcomes
    .map(
      (outcome) =>
        `${Object.values(columns)
          .map((cellOf) => toCell(cellOf(outcome)))
          .join(',')}\r\n`,
    )
    .join('');

function toCell(value: Cell): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = escapeControls(value);
  // users and push services control the text, and a spreadsheet would run formulas in it, with any separator
  const guarded = text.replaceAll(/(^|[,;\t|])(?=[\s"']*[=+\-@])/g, "$1'");
  return /[",;\t|]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
