// What came of subscriptions in broadcasts as a table: a sentence for each, with every attempt behind a switch.
import { hostOf } from '../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../http/description/html.ts';
import type { RowOutcome, RowState } from '../../store/attempts.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { describeAttempt, wordsOf, type WordPart } from '../../operations/row-outcome.ts';
import { titleOf } from './broadcast-title.ts';
import { badge, exactTime, table, time, untrusted, type Variant } from './components.ts';
import { subscriptionLink } from './links.ts';

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
  notInAudience: 'not in the audience',
  notTracked: 'not kept',
  noLongerKept: 'no longer kept',
};

const outcomeBadge = (state: RowState): Html => badge(names[state] ?? state, variants[state]);

const ofBroadcasts = { Broadcast: 'words', Start: 'short' } as const;

/**
 * @param label names the table
 * @param broadcasts that they are of, where these are shown
 * @param none said where there is none
 */
export function outcomesTable(
  label: string,
  outcomes: readonly RowOutcome[],
  none: string,
  broadcasts?: ReadonlyMap<number, Broadcast>,
): Html {
  return table(
    label,
    { ...(broadcasts && ofBroadcasts), Subscription: 'number', Outcome: 'short', Why: 'words' },
    outcomes.map((outcome) => [
      ...(broadcasts === undefined ? [] : renderBroadcast(outcome.broadcastId, broadcasts)),
      subscriptionLink(outcome.subscriptionId),
      outcomeBadge(outcome.state),
      html`${renderParts(wordsOf(outcome))}${renderAttempts(outcome)}`,
    ]),
    none,
  );
}

function renderBroadcast(id: number, broadcasts: ReadonlyMap<number, Broadcast>): readonly Html[] {
  const broadcast = broadcasts.get(id);
  const link = html`<a href="/console/broadcasts/${id}"
    >${broadcast === undefined ? id : titleOf(broadcast)}</a
  >`;
  return [link, broadcast === undefined ? html`` : time(broadcast.startAtMs)];
}

const renderParts = (parts: readonly WordPart[]): Html =>
  html`${parts.map((part) => {
    if (typeof part === 'string') return part;
    return 'atMs' in part ? exactTime(part.atMs) : html`“${untrusted(part.quoted)}”`;
  })}`;

/** The last one is in the sentence already. */
const renderAttempts = ({ attempts }: RowOutcome): Html | false =>
  attempts.length > 1 &&
  html`<details>
    <summary>${attempts.length} attempts</summary>
    <ol reversed class="plain">
      ${attempts.map((attempt) => html`<li>${hostOf(attempt.origin)}: ${renderParts(describeAttempt(attempt))}</li>`)}
    </ol>
  </details>`;
