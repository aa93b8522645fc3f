// The first page: the pace of sending, running broadcasts, alarms, and the numbers of gained and lost subscriptions.
import type { FastifyInstance } from 'fastify';
import { readAlarms } from '../../../delivery/alarms/read-alarms.ts';
import { describeState } from '../../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../../http/description/html.ts';
import type { Broadcast, OpenBroadcasts } from '../../../store/broadcasts.ts';
import { outcomeWidths } from '../../../store/statistics.ts';
import type { Store } from '../../../store/store.ts';
import type { OperatorContext } from '../../context.ts';
import { renderAlarms, renderStanding } from './alarms.ts';
import { dayBars, progressBar, reachedWords, serviceCharts, toServiceBars } from '../charts.ts';
import { card, empty, live, stateBadge, tile } from '../components.ts';
import { counted, figure } from '../figures.ts';
import { textField } from '../forms.ts';
import type { AddLive } from '../live.ts';
import { linkToCurrent, pages, sendPage, urlOf } from '../page.ts';
import { type ConsoleSession, sessionOf } from '../sessions.ts';
import { titleOf } from '../outcomes-table.ts';
import { lossesUrl } from './losses.ts';

const dayMs = 24 * 60 * 60 * 1000;
const shownDays = 30;
const maxOpen = 50;
const recentBroadcasts = 20;

const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;

const ranges = {
  hour: {
    text: 'last hour',
    width: 'fine',
    stepMs: minuteMs,
    count: 60,
    ticks: ['1 h ago', '30 min ago', 'now'],
  },
  day: {
    text: 'last 24 hours',
    width: 'coarse',
    stepMs: 30 * minuteMs,
    count: 48,
    ticks: ['24 h ago', '12 h ago', 'now'],
  },
  week: {
    text: 'last 7 days',
    width: 'coarse',
    stepMs: 3 * hourMs,
    count: 56,
    ticks: ['7 days ago', '3½ days ago', 'now'],
  },
} as const;

type RangeName = keyof typeof ranges;

export function addOverview(app: FastifyInstance, parts: OperatorContext, addLive: AddLive): void {
  const { store } = parts;
  addLive('/live/overview', async ({ query }) => renderParts(parts, readRange(query)));

  app.get('/', async (request, reply) => {
    const range = readRange(request.query);
    const [{ shared, own, status }, days] = await Promise.all([renderParts(parts, range), readDays(store)]);
    return sendPage(reply, {
      title: 'Overview',
      liveUrl: `/console/live/overview?range=${range}`,
      status,
      content: html`
        ${live('alarms', own(sessionOf(request)).alarms)} ${live('tiles', shared.tiles)}
        <div class="columns">
          ${card('Under way', live('running', shared.running))}
          ${card(
            'Subscriptions by day',
            html`${dayBars(days.shown, days.sinceMs, shownDays)}
              <p class="small"><a href="${lossesUrl}">Whom we lost, and why</a></p>`,
          )}
        </div>
        <section class="card" aria-labelledby="outcomes">
          <div class="head">
            <h2 id="outcomes">Outcomes per push service</h2>
            <nav class="tabs small" aria-label="Time">
              ${Object.entries(ranges).map(([name, { text }]) =>
                linkToCurrent(`/console/?range=${name}`, text, name === range),
              )}
            </nav>
          </div>
          ${live('services', shared.services)}
        </section>
      `,
    });
  });
}

function readRange(query: unknown): RangeName {
  const name = textField(query, 'range');
  return Object.hasOwn(ranges, name) ? (name as RangeName) : 'hour';
}

async function renderParts({ store, readWarnings }: OperatorContext, range: RangeName) {
  const [rate, subscriptions, today, open, counts, newest, services, senders, { standing }] =
    await Promise.all([
      readRate(store),
      store.subscriptions.count(),
      readToday(store),
      store.broadcasts.listOpen(maxOpen),
      store.broadcasts.countOpen(),
      store.broadcasts.list({ limit: recentBroadcasts }),
      renderServices(store, range),
      store.senders.list(),
      readAlarms(store, readWarnings),
    ]);
  const workers = senders.filter(({ kind }) => kind === 'worker');
  const machines = new Set(workers.map(({ machine }) => machine)).size;
  const unknown = standing.filter(({ acknowledgement }) => acknowledgement === undefined).length;
  const shared = {
    tiles: html`<dl class="tiles">
      ${tile('Messages a second', figure('overview.rate', rate), 'over the last seconds')}
      ${tile('Broadcasts running', figure('open.running', counts.running), describeOthers(counts))}
      ${tile(
        'Subscriptions',
        figure('overview.subscriptions', subscriptions),
        `today ${figure('overview.gained', today.gained)} gained, ${figure('overview.lost', today.lost)} lost`,
      )}
      ${tile(
        'Workers',
        figure('senders.workers', workers.length),
        workers.length === 0
          ? 'nobody delivers broadcasts'
          : `on ${figure('senders.machines', machines, '', counted('machine'))}`,
      )}
      ${tile('Alarms', figure('overview.alarms', unknown), alarmsNote(standing.length - unknown, standing.length))}
    </dl>`,
    running:
      open.length === 0
        ? empty('No broadcast is running.')
        : html`<div>${open.map(renderRunning)}</div>
            ${renderRest(counts, open.length)}`,
    services,
  };
  const own = (session: ConsoleSession) => ({
    alarms: renderAlarms(standing.map((alarm) => renderStanding(alarm, session))),
  });
  const status = [
    ...new Set([...open, ...newest].map(describeState)),
    ...(unknown > 0 ? [`Alarms: ${figure('overview.alarms', unknown)}`] : []),
  ];
  return { shared, own, status };
}

/** `2 scheduled, 1 paused` */
const describeOthers = ({ running: _shown, ...others }: OpenBroadcasts): string =>
  Object.entries(others)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${figure(`open.${state}`, count)} ${state}`)
    .join(', ') || 'none preparing, scheduled or paused';

function renderRest(counts: OpenBroadcasts, shown: number): Html | false {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return (
    all > shown &&
    html`<p class="quiet small">
      The newest ${figure('overview.shown', shown)} of ${figure('overview.open', all)}.
      <a href="${pages.Broadcasts}">All broadcasts</a>
    </p>`
  );
}

function alarmsNote(acknowledged: number, all: number): string {
  if (all === 0) return 'nothing is wrong';
  return acknowledged === 0
    ? 'see above'
    : `and ${figure('overview.acknowledged', acknowledged)} acknowledged`;
}

/** Messages per second since the start of the previous ten-second interval. */
async function readRate(store: Store): Promise<number> {
  const { widthMs } = outcomeWidths.fine;
  const nowMs = store.now();
  const sinceMs = nowMs - (nowMs % widthMs) - widthMs;
  const intervals = await store.statistics.outcomes({ width: 'fine', sinceMs });
  return intervals.reduce((sum, { attempts }) => sum + attempts, 0) / ((nowMs - sinceMs) / 1000);
}

async function readToday(store: Store): Promise<{ readonly gained: number; readonly lost: number }> {
  const [today] = await store.statistics.subscriptionDays(startOfDay(store.now()));
  return today ?? { gained: 0, lost: 0 };
}

async function readDays(store: Store) {
  const sinceMs = startOfDay(store.now()) - (shownDays - 1) * dayMs;
  return { sinceMs, shown: await store.statistics.subscriptionDays(sinceMs) };
}

const startOfDay = (atMs: number): number => atMs - (atMs % dayMs);

async function renderServices(store: Store, name: RangeName): Promise<Html> {
  const { text, width, stepMs, count, ticks } = ranges[name];
  const nowMs = store.now();
  // the axis begins with a whole bar, so that past bars never change
  const sinceMs = nowMs - (nowMs % stepMs) - (count - 1) * stepMs;
  const intervals = await store.statistics.outcomes({ width, sinceMs });
  if (intervals.length === 0) return empty(`Nothing was sent in the ${text}.`);
  const axis = { sinceMs, stepMs, count, ticks };
  return serviceCharts(toServiceBars(intervals, axis), axis, name);
}

function renderRunning(broadcast: Broadcast): Html {
  const { id, counts } = broadcast;
  return html`<div class="item">
    <p class="spread">
      <a href="${urlOf('Broadcasts', id)}">${titleOf(broadcast)}</a>
      ${stateBadge(broadcast)}
    </p>
    ${progressBar(broadcast)}
    <p class="spread quiet small number">
      <span>${reachedWords(broadcast)}</span>
      ${counts.rejected > 0 && html`<span>${figure('broadcast.rejected', counts.rejected, id)} rejected</span>`}
    </p>
  </div>`;
}
