// Tables of outcomes: responses by push service and reason, attempts, outcomes of subscriptions, and the newest
// broadcasts to a subscription or person. A broadcast's name is its title or, without a title, its text or number.
import { countMeanings, meaningOf } from '../../delivery/broadcast/meanings.ts';
import { html, type Html } from '../../http/description/html.ts';
import { formatChange, readChanges } from '../../operations/audit.ts';
import {
  describeAttempt,
  explain as explainOutcome,
  textOf,
  type WordPart,
  wordsOf,
} from '../../operations/outcomes.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import type { Message } from '../../protocol/message/message.ts';
import { readPayloadTexts } from '../../protocol/message/read-message.ts';
import type { AnswerCount, AttemptRecord, RowOutcome, RowState } from '../../store/attempts.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import type { Schedule } from '../../store/schedules.ts';
import type { Store } from '../../store/store.ts';
import {
  badge,
  capitalize,
  exactTime,
  number,
  older,
  prose,
  service,
  table,
  time,
  timeFromNow,
  untrusted,
  urlWith,
  type Variant,
  wide,
} from './components.ts';
import { figure, figuresOf } from './figures.ts';
import { idField } from './forms.ts';
import { broadcastLink, pages, subscriptionLink, urlOf } from './page.ts';

const maxCharacters = 80;

export const titleOf = ({ id, payload }: Pick<Broadcast, 'id' | 'payload'>): Html =>
  nameBy(readPayloadTexts(payload), `Broadcast ${id}`);

export const scheduleTitle = ({ id, message }: Pick<Schedule, 'id' | 'message'>): Html =>
  nameBy(message, `Schedule ${id}`);

function nameBy({ title, message }: Pick<Message, 'title' | 'message'>, otherwise: string): Html {
  const text = title.trim() || message.trim();
  if (text === '') return html`${otherwise}`;
  return prose(text.length > maxCharacters ? `${firstCharacters(text)}…` : text);
}

/** Keeps whole characters: an emoji may consist of several code points. */
function firstCharacters(text: string): string {
  const end = [...new Intl.Segmenter().segment(text)].find(
    ({ index, segment }) => index + segment.length >= maxCharacters,
  );
  return text.slice(0, end?.index);
}

const shownAnswers = 50;

/** @param none text to show if there are no responses @param scope the broadcasts that the responses belong to */
export function answersTable(answers: readonly AnswerCount[], none: string, scope: string): Html {
  const kinds = Map.groupBy(answers, ({ origin, outcome, reason, status, detail }) =>
    JSON.stringify([pushServiceName(origin), outcome, reason, status, detail]),
  );
  const sums = [...kinds.values()]
    .map((same) => ({
      ...same[0]!,
      rows: same.reduce((sum, { rows }) => sum + rows, 0),
      lastAtMs: Math.max(...same.map(({ lastAtMs }) => lastAtMs)),
    }))
    .sort((one, other) => other.rows - one.rows);
  return html`${table(
    'Reasons by push service',
    sums.slice(0, shownAnswers).map((sum) => {
      const shown = figuresOf('answer', nameAnswer(sum, scope));
      return {
        'Push service': service(sum.origin),
        Outcome: badge(sum.outcome, sum.outcome === 'rejected' ? 'bad' : 'plain'),
        Status: number(sum.status === undefined ? '' : shown('status', sum.status, String)),
        Times: number(shown('rows', sum.rows)),
        'What it said, and what that means': wide(explain(sum)),
        Last: shown('lastAt', sum.lastAtMs, time),
      };
    }),
    none,
  )}
  ${renderRest(sums.slice(shownAnswers))}`;
}

const nameAnswer = ({ origin, outcome, status }: AnswerCount, scope: string): string =>
  `${scope} ${pushServiceName(origin)} ${outcome} ${status}`;

function renderRest(rest: readonly AnswerCount[]): Html | false {
  const times = rest.reduce((sum, { rows }) => sum + rows, 0);
  return (
    rest.length > 0 &&
    html`<p class="quiet">
      and ${figure('answer.rarer', rest.length)} rarer answers, ${figure('answer.rarerRows', times)} times
      together
    </p>`
  );
}

/** Explains what a response means and what can be done about it. */
function explain({ outcome, reason, detail }: AnswerCount): Html {
  if (reason === undefined && detail === undefined)
    return html`${outcome !== 'retry' && `${capitalize(countMeanings[outcome])}.`}`;
  const remedy = reason === undefined ? '' : meaningOf(reason).remedy;
  return html`${renderWords({ reason, detail })}${remedy !== '' && html` <span class="quiet">${remedy}</span>`}`;
}

const nameAttempt = ({ broadcastId, subscriptionId, atMs }: AttemptRecord): string =>
  `${broadcastId} ${subscriptionId} ${atMs}`;

const tones: Readonly<Record<string, Variant>> = { accepted: 'good', rejected: 'bad', retry: 'warn' };

/** @param none text to show if there are no attempts */
export function attemptsTable(attempts: readonly AttemptRecord[], none: string): Html {
  return table(
    'List of attempts',
    attempts.map((attempt) => {
      const shown = figuresOf('attempt', nameAttempt(attempt));
      return {
        Time: shown('at', attempt.atMs, time),
        Subscription: number(subscriptionLink(attempt.subscriptionId)),
        'Push service': service(attempt.origin),
        Outcome: html`${shown('outcome', attempt.outcome, (outcome) => badge(outcome, tones[outcome]))}${
          attempt.attempt > 1 && ` attempt ${shown('number', attempt.attempt)}`
        }`,
        Status: number(attempt.status === undefined ? '' : shown('status', attempt.status, String)),
        'What it said, and what that means': wide(renderWords(attempt)),
      };
    }),
    none,
  );
}

/**
 * Quotes the push service and says what the reason means. Renders nothing if neither is known: phones hide empty cells.
 */
const renderWords = ({ reason, detail }: Pick<AttemptRecord, 'reason' | 'detail'>): Html =>
  html`${detail !== undefined && html`“${untrusted(detail)}” `}${reason !== undefined && (meaningOf(reason).meaning || reason)}`;

const variants: Readonly<Partial<Record<RowState, Variant>>> = {
  accepted: 'good',
  rejected: 'bad',
  exhausted: 'bad',
  expired: 'bad',
  doubtful: 'warn',
  gone: 'warn',
  waiting: 'warn',
  inFlight: 'active',
};

const names: Readonly<Partial<Record<RowState, string>>> = {
  doubtful: 'in doubt',
  inFlight: 'in flight',
  inactive: 'left out',
  channelOff: 'left out',
  timePassed: 'left out',
  notInAudience: 'not in the audience',
  notTracked: 'not kept',
  noLongerKept: 'no longer kept',
};

const outcomeBadge = (state: RowState): Html => badge(names[state] ?? state, variants[state]);

/**
 * @param label name of the table
 * @param broadcasts given if the table names the broadcasts
 * @param none text to show if there are no outcomes
 */
export function outcomesTable(
  label: string,
  outcomes: readonly RowOutcome[],
  none: string,
  broadcasts?: ReadonlyMap<number, Broadcast>,
): Html {
  return table(
    label,
    outcomes.map((outcome) => ({
      ...(broadcasts && renderBroadcast(outcome.broadcastId, broadcasts.get(outcome.broadcastId))),
      Subscription: number(subscriptionLink(outcome.subscriptionId)),
      Outcome: figure('outcome.state', outcome.state, nameOutcome(outcome), outcomeBadge),
      Why: wide(
        html`${figure('outcome.words', explainOutcome(outcome), nameOutcome(outcome), () => renderParts(wordsOf(outcome)))}${renderAttempts(outcome)}`,
      ),
    })),
    none,
  );
}

const renderBroadcast = (id: number, broadcast: Broadcast | undefined) => ({
  Broadcast: wide(
    broadcast === undefined
      ? broadcastLink(id)
      : html`<a href="${urlOf('Broadcasts', id)}">${titleOf(broadcast)}</a>`,
  ),
  Start: broadcast === undefined ? '' : figure('broadcast.startAt', broadcast.startAtMs, id, time),
});

const renderParts = (parts: readonly WordPart[]): Html =>
  html`${parts.map((part) => {
    if (typeof part === 'string') return part;
    return 'atMs' in part ? exactTime(part.atMs) : html`“${untrusted(part.quoted)}”`;
  })}`;

const nameOutcome = ({ broadcastId, subscriptionId }: RowOutcome): string =>
  `${broadcastId} ${subscriptionId}`;

const describeOne = (attempt: AttemptRecord): Html =>
  figure('attempt.words', textOf(describeAttempt(attempt)), nameAttempt(attempt), () =>
    renderParts(describeAttempt(attempt)),
  );

/** Lists the earlier attempts. The sentence above the list describes the last attempt. */
const renderAttempts = (outcome: RowOutcome): Html | false =>
  outcome.attempts.length > 1 &&
  html`<details>
    <summary>${figure('outcome.attempts', outcome.attempts.length, nameOutcome(outcome))} attempts</summary>
    <ol reversed class="plain">
      ${outcome.attempts.map((attempt) => html`<li>${service(attempt.origin)}: ${describeOne(attempt)}</li>`)}
    </ol>
  </details>`;

const shownChanges = 3;

/** Lists who changed a target, the newest change first. @param target such as `broadcast 7` */
export async function renderChanges(store: Pick<Store, 'audit'>, target: string): Promise<Html> {
  const changes = await readChanges(store, target);
  if (changes.length === 0) return html``;
  return html`<p class="quiet small">
    ${changes
      .slice(0, shownChanges)
      .map(
        (change) =>
          html`${untrusted(capitalize(formatChange(change)))},
          ${figure('audit.at', change.atMs, change.id, timeFromNow)}. `,
      )}
    <a href="${urlWith(pages.Audit, { target })}">All changes</a>
  </p>`;
}

const shownBroadcasts = 20;

/**
 * @param url address of the page
 * @param query `before`: the broadcast id at which the previous page ended
 * @param kept other parameters of the address
 */
export async function renderBroadcastsTo(
  subscriptionIds: readonly number[],
  url: string,
  query: unknown,
  { attempts, broadcasts }: Store,
  kept: Readonly<Record<string, string>> = {},
): Promise<Html> {
  const beforeId = idField(query, 'before');
  const { outcomes, next } = await attempts.outcomesTo(subscriptionIds, { beforeId, limit: shownBroadcasts });
  const found = await broadcasts.findAll(outcomes.map(({ broadcastId }) => broadcastId));
  const byId = new Map(found.map((broadcast) => [broadcast.id, broadcast]));
  const none = next === undefined ? 'No broadcast that is still known.' : `No broadcast from ${next} on.`;
  return html`<p class="quiet small">
      Broadcasts, the newest first. Messages to single subscriptions or to one person are not kept.
    </p>
    ${outcomesTable('What came of broadcasts', outcomes, none, byId)}
    ${older(url, kept, 'before', next, outcomes.length === 0 ? 'Search older broadcasts' : 'Older')}`;
}
