// The progress of a broadcast in figures, and its outcomes over time and by push service.
import { formatSpan } from '../../../errors/format-count.ts';
import {
  byPushService,
  formatShare,
  nonZeroCounts,
  shareOfAccepted,
  stateOf,
  totalReceipts,
} from '../../../delivery/broadcast/format-broadcast.ts';
import {
  countMeanings,
  inactiveMeaning,
  leftOutMeanings,
  receiptMeanings,
} from '../../../delivery/broadcast/meanings.ts';
import {
  formatWait,
  measureReach,
  outlookOf,
  rateOf,
  waitsByService,
} from '../../../delivery/broadcast/progress.ts';
import { html, type Html } from '../../../http/description/html.ts';
import {
  isOver,
  outcomeGroups,
  settlements,
  type Broadcast,
  type OriginCounts,
} from '../../../store/broadcasts.ts';
import { receiptEvents } from '../../../store/receipts.ts';
import type { LeftOut } from '../../../store/split-audience.ts';
import type { OutcomeInterval } from '../../../store/statistics.ts';
import { progressBar, reachedFigure, reachedWords, serviceCharts, sumOf, toServiceBars } from '../charts.ts';
import {
  capitalize,
  empty,
  moreHosts,
  number,
  service,
  stateBadge,
  table,
  tile,
  timeFromNow,
  untrusted,
  urlWith,
} from '../components.ts';
import { figure, figuresOf } from '../figures.ts';
import { pages } from '../page.ts';

interface Around {
  readonly hasWorker: boolean;
  readonly leftOut: Readonly<Partial<Record<LeftOut, number>>>;
  readonly nowMs: number;
}

export function renderProgress(
  broadcast: Broadcast,
  intervals: readonly OutcomeInterval[],
  { hasWorker, leftOut, nowMs }: Around,
): Html {
  const shown = figuresOf('broadcast', broadcast.id);
  const { inactive, skipInactive, startAtMs, finishedAtMs } = broadcast;
  const rate = isOver(broadcast) ? 0 : rateOf(intervals, nowMs);
  const { etaSeconds, nextPartAtMs } = outlookOf(broadcast, rate);
  const left =
    etaSeconds === undefined
      ? timing(broadcast, hasWorker)
      : `${shown('etaSeconds', etaSeconds, formatSpan)} left`;
  const next = nextPartAtMs !== undefined && startAtMs <= nowMs;
  const speed = rate > 0 ? ` · ${shown('rate', rate)} a second` : '';
  return html`<div class="card">
      <div class="head">
        <p>
          ${stateBadge(broadcast)} <span class="quiet">${left}</span>
          ${next && html`<span class="quiet">the next part starts ${shown('nextPartAt', nextPartAtMs, timeFromNow)}</span>`}
        </p>
        <p class="quiet small">
          ${finishedAtMs === undefined ? html`${startAtMs > nowMs ? 'starts' : 'started'} ${shown('startAt', startAtMs, timeFromNow)}` : html`finished ${shown('finishedAt', finishedAtMs, timeFromNow)}`}
        </p>
      </div>
      ${progressBar(broadcast)}
      <p class="number">
        <strong>${reachedFigure(broadcast)}</strong>
        <span class="quiet">${reachedWords(broadcast)}${speed}</span>
      </p>
    </div>
    <dl class="tiles">
      ${nonZeroCounts(broadcast).map(([name, count]) =>
        tile(
          capitalize(name),
          linkToGroup(broadcast.id, name, count, shown(name, count)),
          name === 'pending' ? describePending(broadcast) : countMeanings[name],
        ),
      )}
      ${inactive !== undefined && tile('Left out', linkToGroup(broadcast.id, 'inactive', inactive, shown('leftOut.inactive', inactive)), inactiveMeaning(skipInactive))}
      ${Object.entries(leftOutMeanings).map(([reason, meaning]) => {
        const count = leftOut[reason as LeftOut] ?? 0;
        return (
          count > 0 &&
          tile(
            leftOutLabels[reason as keyof typeof leftOutMeanings],
            linkToGroup(broadcast.id, reason, count, shown(`leftOut.${reason}`, count)),
            meaning,
          )
        );
      })}
    </dl>
    ${renderReceipts(broadcast)} ${renderReach(broadcast, intervals)}`;
}

/** A number of subscriptions. Links to the form for sending to the subscriptions that are still stored. */
const linkToGroup = (broadcast: number, group: string, count: number, text: string): Html | string =>
  count > 0 && (outcomeGroups as readonly string[]).includes(group)
    ? html`<a
        href="${urlWith(pages.Send, { audience: 'outcome', broadcast: String(broadcast), outcome: group })}"
        title="Send to them"
        >${text}</a
      >`
    : text;

const leftOutLabels: Readonly<Record<keyof typeof leftOutMeanings, string>> = {
  channelOff: 'Left out: channel off',
  timePassed: 'Left out: time over',
};

/** What a broadcast waits for: `247 to be tried again, 12,000 held back by fcm.googleapis.com`. */
const describePending = (broadcast: Broadcast): string =>
  waitsByService(broadcast)
    .map((wait) =>
      figure(`broadcast.waits.${wait.for}`, wait.rows, `${broadcast.id} ${wait.origin ?? ''}`.trim(), () =>
        formatWait(wait),
      ),
    )
    .join(', ');

/** The receipts from browsers for accepted messages. These counts are not part of the sum. */
function renderReceipts(broadcast: Broadcast): Html {
  const total = totalReceipts(broadcast);
  if (total === undefined) return html``;
  const shown = figuresOf('broadcast', broadcast.id);
  const clicks = Object.entries(total.actions);
  return html`<dl class="tiles">
    ${receiptEvents.map((event) => {
      const share = shareOfAccepted(total[event], broadcast);
      const note =
        share === undefined ? '' : `${shown(`${event}Share`, share, formatShare)} of the accepted, `;
      const text = linkToGroup(broadcast.id, event, total[event], shown(event, total[event]));
      return tile(capitalize(event), text, `${note}${receiptMeanings[event]}`);
    })}
    ${clicks.map(([action, count]) => tile(html`Clicked: ${untrusted(action)}`, figure('broadcast.clickedAction', count, `${broadcast.id} ${action}`), 'of these, on this action'))}
  </dl>`;
}

/** Shows how long the broadcast took to reach its recipients, with the precision of the counted intervals. */
const renderReach = (broadcast: Broadcast, intervals: readonly OutcomeInterval[]): Html | false =>
  intervals.length > 0 &&
  html`<dl class="tiles">
    ${measureReach(broadcast, intervals).map(({ percent, seconds, precisionSeconds = 0 }) =>
      seconds === undefined
        ? tile(`Time to ${percent} %`, '–', isOver(broadcast) ? 'so many were never reached' : 'not yet')
        : tile(
            `Time to ${percent} %`,
            figure(`broadcast.timeTo.${percent}`, seconds, broadcast.id, formatSpan),
            `at the latest, until so many recipients were reached; exact to ${figure(`broadcast.timePrecision.${percent}`, precisionSeconds, broadcast.id, formatSpan)}`,
          ),
    )}
  </dl>`;

function timing(broadcast: Broadcast, hasWorker: boolean): string {
  const { startAtMs, finishedAtMs, state } = broadcast;
  if (finishedAtMs !== undefined) {
    return `took ${figuresOf('broadcast', broadcast.id)('tookSeconds', Math.max(0, finishedAtMs - startAtMs) / 1000, formatSpan)}`;
  }
  if (state === 'preparing') return 'looking for its audience; nothing is sent until it is complete';
  if (state === 'paused') return 'nothing is sent until it is resumed';
  return stateOf(broadcast) === 'running' && !hasWorker ? 'no worker is running' : '';
}

export function renderCharts(broadcast: Broadcast, intervals: readonly OutcomeInterval[]): Html {
  const last = intervals.at(-1);
  if (last === undefined) return empty('Nothing has been sent yet.');
  const widest = Math.max(...intervals.map(({ widthMs }) => widthMs));
  const firstMs = Math.min(broadcast.startAtMs, intervals[0]!.startMs);
  const sinceMs = firstMs - (firstMs % widest);
  const endMs = endOf(last);
  const mostMs = endOf(findMost(intervals));
  const isCut = endMs - sinceMs > 2 * (mostMs - sinceMs);
  const spanMs = (isCut ? mostMs : endMs) - sinceMs;
  const stepMs = widest * Math.ceil(spanMs / widest / maxBars);
  const bars = Math.ceil(spanMs / stepMs) + Number(isCut);
  const count = Math.max(minBars, 2 * Math.ceil(bars / 2));
  const after = (passed: number) => formatSpan((passed * stepMs) / 1000);
  const end = after(count) + (endMs > sinceMs + count * stepMs ? ' and later' : '');
  const axis = { sinceMs, stepMs, count, ticks: ['start', after(count / 2), end] } as const;
  return serviceCharts(toServiceBars(intervals, axis), axis, `broadcast ${broadcast.id}`);
}

const endOf = ({ startMs, widthMs }: OutcomeInterval): number => startMs + widthMs;

/** Finds the interval in which the outcomes reach 99 %. The few later outcomes would flatten the chart. */
function findMost(intervals: readonly OutcomeInterval[]): OutcomeInterval {
  let rest = intervals.reduce((sum, interval) => sum + sumOf(interval), 0) * 0.99;
  return intervals.find((interval) => (rest -= sumOf(interval)) <= 0)!;
}

/** Without this, a broadcast of one second would be a single bar as wide as the page. */
const minBars = 10;
const maxBars = 60;

export function renderServices({ id, origins, heldBack, receipts }: Broadcast): Html {
  const services = byPushService(origins);
  const suspendedRows = new Map(byPushService(heldBack).map(({ origin, rows }) => [origin, rows]));
  const reported = new Map(byPushService(receipts ?? []).map((counts) => [counts.origin, counts]));
  const events = receipts === undefined ? [] : receiptEvents;
  // Leave out columns in which every cell is empty.
  const outcomes = settlements.filter((name) => origins.some((counts) => counts[name] > 0));
  const figures = [
    ['attempts', ({ attempts }: OriginCounts) => attempts],
    ...outcomes.map((name) => [name, (counts: OriginCounts) => counts[name]] as const),
    ...(suspendedRows.size > 0
      ? [['held back', ({ origin }: OriginCounts) => suspendedRows.get(origin) ?? 0] as const]
      : []),
    ...events.map(
      (event) => [event, ({ origin }: OriginCounts) => reported.get(origin)?.[event] ?? 0] as const,
    ),
  ] as const;
  const rows = services.slice(0, maxServices).map((counts) => ({
    'Push service': service(counts.origin),
    ...Object.fromEntries(
      figures.map(([name, figureOf]) => [
        capitalize(name),
        number(figure(`broadcast.ofOrigin.${name}`, figureOf(counts), `${id} ${counts.origin}`)),
      ]),
    ),
  }));
  return html`${table('Outcomes per push service', rows, 'Nothing has been sent yet.')}
  ${moreHosts(services.length - maxServices)}`;
}

const maxServices = 20;
