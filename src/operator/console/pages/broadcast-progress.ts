// The progress of a broadcast in figures, and its outcomes over time and by push service.
import { formatCount } from '../../../errors/format-count.ts';
import {
  formatShare,
  hostOf,
  nonZeroCounts,
  settledRows,
  shareOfAccepted,
  stateOf,
  totalReceipts,
} from '../../../delivery/broadcast/format-broadcast.ts';
import { countMeanings, inactiveMeaning, receiptMeanings } from '../../../delivery/broadcast/meanings.ts';
import { measureReach } from '../../../delivery/broadcast/progress.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { isOver, settlements, type Broadcast, type OriginCounts } from '../../../store/broadcasts.ts';
import { receiptEvents } from '../../../store/receipts.ts';
import type { OutcomeInterval } from '../../../store/statistics.ts';
import { progressBar, serviceCharts, settledShare, toServiceBars } from '../charts.ts';
import {
  capitalize,
  empty,
  formatSpan,
  moreHosts,
  stateBadge,
  table,
  tile,
  timeFromNow,
  untrusted,
} from '../components.ts';

/** @param nowMs the store's time */
export function renderProgress(
  broadcast: Broadcast,
  intervals: readonly OutcomeInterval[],
  nowMs: number,
): Html {
  const { recipients, inactive, skipInactive, counts, startAtMs, finishedAtMs } = broadcast;
  const settled = settledRows(broadcast);
  const rate = stateOf(broadcast, nowMs) === 'running' ? rateOf(intervals, nowMs) : 0;
  const left =
    rate > 0 && counts.pending > 0 ? `${formatSpan(counts.pending / rate)} left` : timing(broadcast);
  const speed = rate > 0 ? ` · ${formatCount(rate)} a second` : '';
  return html`<div class="card">
      <div class="head">
        <p>${stateBadge(broadcast)} <span class="quiet">${left}</span></p>
        <p class="quiet small">
          ${finishedAtMs === undefined ? html`${startAtMs > nowMs ? 'starts' : 'started'} ${timeFromNow(startAtMs)}` : html`finished ${timeFromNow(finishedAtMs)}`}
        </p>
      </div>
      ${progressBar(broadcast)}
      <p class="number">
        <strong>${settledShare(broadcast)}</strong>
        <span class="quiet">${formatCount(settled)} of ${formatCount(recipients)}${speed}</span>
      </p>
    </div>
    <dl class="tiles">
      ${nonZeroCounts(broadcast).map(([name, count]) =>
        tile(
          capitalize(name),
          formatCount(count),
          name === 'pending' ? describePending(broadcast) : countMeanings[name],
        ),
      )}
      ${inactive !== undefined && tile('Left out', formatCount(inactive), inactiveMeaning(skipInactive))}
    </dl>
    ${renderReceipts(broadcast)} ${renderReach(broadcast, intervals)}`;
}

/** `247 to be tried again, 12,000 held back` */
function describePending({ waiting, toRetry, heldBack }: Broadcast): string {
  const suspendedRows = heldBack.reduce((sum, { rows }) => sum + rows, 0);
  const parts = [
    [toRetry, 'to be tried again'],
    [suspendedRows, 'held back'],
    [waiting - toRetry - suspendedRows, 'put off, not tried yet'],
  ] as const;
  const texts = parts.filter(([rows]) => rows > 0).map(([rows, words]) => `${formatCount(rows)} ${words}`);
  return texts.length === 0 ? countMeanings.pending : texts.join(', ');
}

/** What browsers reported about accepted messages. These counts are not part of the sum. */
function renderReceipts(broadcast: Broadcast): Html {
  const total = totalReceipts(broadcast);
  if (total === undefined) return html``;
  const clicks = Object.entries(total.actions);
  return html`<dl class="tiles">
    ${receiptEvents.map((event) => {
      const share = shareOfAccepted(total[event], broadcast);
      const note = share === undefined ? '' : `${formatShare(share)} of the accepted, `;
      return tile(capitalize(event), formatCount(total[event]), `${note}${receiptMeanings[event]}`);
    })}
    ${clicks.map(([action, count]) => tile(html`Clicked: ${untrusted(action)}`, formatCount(count), 'of these, on this action'))}
  </dl>`;
}

/** How long it took, as exact as the intervals of the counts. */
const renderReach = (broadcast: Broadcast, intervals: readonly OutcomeInterval[]): Html | false =>
  intervals.length > 0 &&
  html`<dl class="tiles">
    ${measureReach(broadcast, intervals).map(({ percent, seconds, precisionSeconds = 0 }) =>
      seconds === undefined
        ? tile(`Time to ${percent} %`, '–', isOver(broadcast) ? 'so many never had an outcome' : 'not yet')
        : tile(
            `Time to ${percent} %`,
            `${formatSpan(seconds)}`,
            `at the latest, until so many recipients had an outcome; exact to ${formatSpan(precisionSeconds)}`,
          ),
    )}
  </dl>`;

function timing({ startAtMs, finishedAtMs, state }: Broadcast): string {
  if (finishedAtMs !== undefined) {
    return `took ${formatSpan(Math.max(0, finishedAtMs - startAtMs) / 1000)}`;
  }
  if (state === 'preparing') return 'looking for its audience; nothing is sent until it is complete';
  return state === 'paused' ? 'nothing is sent until it is resumed' : '';
}

/** Messages a second over the last ten seconds. */
function rateOf(intervals: readonly OutcomeInterval[], nowMs: number): number {
  const recent = intervals.filter(({ startMs }) => startMs > nowMs - 10_000);
  const sinceMs = Math.min(nowMs - 1000, ...recent.map(({ startMs }) => startMs));
  return recent.reduce((sum, { attempts }) => sum + attempts, 0) / ((nowMs - sinceMs) / 1000);
}

export function renderCharts(broadcast: Broadcast, intervals: readonly OutcomeInterval[]): Html {
  const last = intervals.at(-1);
  if (last === undefined) return empty('Nothing has been sent yet.');
  const widest = Math.max(...intervals.map(({ widthMs }) => widthMs));
  const firstMs = Math.min(broadcast.startAtMs, intervals[0]!.startMs);
  const sinceMs = firstMs - (firstMs % widest);
  const spanMs = last.startMs + last.widthMs - sinceMs;
  const stepMs = widest * Math.ceil(spanMs / widest / maxBars);
  const count = Math.max(minBars, 2 * Math.ceil(spanMs / stepMs / 2));
  const after = (bars: number) => formatSpan((bars * stepMs) / 1000);
  const axis = { sinceMs, stepMs, count, ticks: ['start', after(count / 2), after(count)] } as const;
  return serviceCharts(toServiceBars(intervals, axis), axis);
}

/** Keeps a run of a second from being one bar as wide as the page. */
const minBars = 10;
const maxBars = 60;

export function renderServices({ origins, heldBack, receipts }: Broadcast): Html {
  const suspendedRows = new Map(heldBack.map(({ origin, rows }) => [origin, rows]));
  const reported = new Map(receipts?.map((counts) => [counts.origin, counts]));
  const events = receipts === undefined ? [] : receiptEvents;
  // Leave out columns that are empty everywhere.
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
  const columns = Object.fromEntries(figures.map(([name]) => [capitalize(name), 'number'] as const));
  const rows = origins
    .slice(0, maxOrigins)
    .map((counts) => [
      hostOf(counts.origin),
      ...figures.map(([, figureOf]) => formatCount(figureOf(counts))),
    ]);
  return html`${table('Outcomes per push service', { 'Push service': 'short', ...columns }, rows, 'Nothing has been sent yet.')}
  ${moreHosts(origins.length - maxOrigins)}`;
}

const maxOrigins = 20;
