// One broadcast: how far it is, what came of it at each push service and when, what is wrong, and how to stop it.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  countMeanings,
  formatCount,
  formatDuration,
  hostOf,
  nonZeroCounts,
  stateOf,
} from '../../../delivery/format-broadcast.ts';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { readPayloadTexts } from '../../../protocol/message/read-payload.ts';
import { isOver, settlements, type Broadcast } from '../../../store/broadcasts.ts';
import { receiptEvents } from '../../../store/receipts.ts';
import type { OutcomeInterval } from '../../../store/statistics.ts';
import { checkExpression } from '../../../store/check-people.ts';
import type { Store } from '../../../store/store.ts';
import type { OperatorParts } from '../../parts.ts';
import { sessionOf } from '../access.ts';
import { renderAlarm } from '../alarms.ts';
import { attemptsTable } from '../attempts.ts';
import { progressBar, serviceCharts, toServiceBars } from '../charts.ts';
import {
  card,
  empty,
  facts,
  live,
  notice,
  nothing,
  older,
  select,
  stateBadge,
  strange,
  table,
  tile,
  time,
} from '../components.ts';
import { idField, textField } from '../forms.ts';
import type { AddLive } from '../live.ts';
import { csrfField, sendPage } from '../page.ts';
import type { ConsoleSession } from '../sessions.ts';
import { titleOf } from '../titles.ts';

const controls = {
  pause: { text: 'Pause', from: ['running', 'scheduled'], style: '' },
  resume: { text: 'Resume', from: ['paused'], style: 'primary' },
  cancel: { text: 'Cancel', from: ['running', 'scheduled', 'paused'], style: 'danger' },
} as const;

type ControlName = keyof typeof controls;

export function addBroadcastPages(app: FastifyInstance, { store }: OperatorParts, addLive: AddLive): void {
  const find = async ({ params }: FastifyRequest): Promise<Broadcast> => {
    const id = idField(params, 'id') ?? 0;
    const broadcast = await store.broadcasts.find(id);
    if (broadcast !== undefined) return broadcast;
    throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', 'There is no broadcast with this id.');
  };
  const readParts = async (broadcast: Broadcast, session: ConsoleSession) =>
    renderParts(broadcast, await store.statistics.outcomesOf(broadcast.id), session);

  addLive('/live/broadcasts/:id', async (request) => readParts(await find(request), sessionOf(request)));

  app.get('/broadcasts/:id', async (request, reply) => {
    const broadcast = await find(request);
    const session = sessionOf(request);
    const parts = await readParts(broadcast, session);
    return sendPage(reply, session, {
      title: `Broadcast ${broadcast.id}`,
      entry: 'Broadcasts',
      lead: html`<p class="quiet">${titleOf(broadcast)}</p>`,
      actions: live('controls', parts.controls),
      liveUrl: isOver(broadcast) ? undefined : `/console/live/broadcasts/${broadcast.id}`,
      content: html`
        ${live('progress', parts.progress)} ${live('alarms', parts.alarms)}
        ${card('Outcomes over its run', live('charts', parts.charts))}
        ${card('Push services', live('services', parts.services))}
        ${await renderAttempts(broadcast, request.query, store)} ${renderMessage(broadcast)}
      `,
    });
  });

  app.get('/broadcasts/:id/cancel', async (request, reply) => {
    const broadcast = await find(request);
    return sendPage(reply, sessionOf(request), renderConfirmation(broadcast, sessionOf(request)));
  });

  for (const name of Object.keys(controls) as ControlName[]) {
    app.post(
      `/broadcasts/:id/${name}`,
      {
        config: {
          audit: {
            action: `broadcast.${name}`,
            target: ({ params }) => `broadcast ${(params as { readonly id: string }).id}`,
          },
        },
      },
      async (request, reply) => {
        const { id } = await find(request);
        await store.broadcasts[name](id);
        return reply.redirect(`/console/broadcasts/${id}`, 303);
      },
    );
  }
}

function renderParts(
  broadcast: Broadcast,
  intervals: readonly OutcomeInterval[],
  session: ConsoleSession,
): Record<'controls' | 'progress' | 'alarms' | 'charts' | 'services', Html> {
  return {
    controls: renderControls(broadcast, session),
    progress: renderProgress(broadcast, intervals),
    alarms:
      broadcast.alarms.length === 0
        ? html``
        : html`<div class="alarms">${broadcast.alarms.map((alarm) => renderAlarm(alarm))}</div>`,
    charts: renderCharts(broadcast, intervals),
    services: renderServices(broadcast),
  };
}

function renderControls(broadcast: Broadcast, session: ConsoleSession): Html {
  const state = stateOf(broadcast);
  const possible = Object.entries(controls).filter(([, { from }]) =>
    (from as readonly string[]).includes(state),
  );
  if (!session.mayChange || possible.length === 0) return html``;
  return html`<div class="buttons">
    ${possible.map(([name, { text, style }]) =>
      // What cannot be undone is asked about.
      name === 'cancel'
        ? html`<a class="button" href="/console/broadcasts/${broadcast.id}/cancel">${text}…</a>`
        : html`<form method="post" action="/console/broadcasts/${broadcast.id}/${name}">
            ${csrfField(session)}<button class="${style}">${text}</button>
          </form>`,
    )}
  </div>`;
}

function renderConfirmation(broadcast: Broadcast, session: ConsoleSession) {
  const { id, counts } = broadcast;
  return {
    title: `Cancel broadcast ${id}?`,
    entry: 'Broadcasts',
    lead: html`<p class="quiet">${titleOf(broadcast)}</p>`,
    content: html`<section class="card">
      <p>
        ${formatCount(counts.pending)} of ${formatCount(broadcast.audience)} messages will not be sent. This
        cannot be undone.
      </p>
      <div class="buttons">
        <form method="post" action="/console/broadcasts/${id}/cancel">
          ${csrfField(session)}<button class="danger">Cancel the broadcast</button>
        </form>
        <a class="button" href="/console/broadcasts/${id}">Back</a>
      </div>
    </section>`,
  } as const;
}

function renderProgress(broadcast: Broadcast, intervals: readonly OutcomeInterval[]): Html {
  const { audience, counts, waiting, heldBack, startAtMs, finishedAtMs } = broadcast;
  const settled = audience - counts.pending;
  const share = audience === 0 ? 1 : settled / audience;
  const rate = stateOf(broadcast) === 'running' ? rateOf(intervals) : 0;
  const held = heldBack.reduce((sum, { rows }) => sum + rows, 0);
  const left =
    rate > 0 && counts.pending > 0 ? `${formatDuration(counts.pending / rate)} left` : timing(broadcast);
  const speed = rate > 0 ? ` · ${formatCount(Math.round(rate))} a second` : '';
  return html`<div class="card">
      <div class="head">
        <p>${stateBadge(broadcast)} <span class="quiet">${left}</span></p>
        <p class="quiet small">
          ${finishedAtMs === undefined ? html`${startAtMs > Date.now() ? 'starts' : 'started'} ${time(startAtMs)}` : html`finished ${time(finishedAtMs)}`}
        </p>
      </div>
      ${progressBar(broadcast)}
      <p class="number">
        <strong>${Math.floor(share * 100)} %</strong>
        <span class="quiet">${formatCount(settled)} of ${formatCount(audience)}${speed}</span>
      </p>
    </div>
    <dl class="tiles">
      ${nonZeroCounts(broadcast).map(([name, count]) =>
        tile(
          capitalize(name),
          formatCount(count),
          name === 'pending' && waiting > 0
            ? `${formatCount(waiting)} to be tried again${held > 0 ? `, ${formatCount(held)} held back` : ''}`
            : countMeanings[name],
        ),
      )}
    </dl>`;
}

function timing({ startAtMs, finishedAtMs, state }: Broadcast): string {
  if (finishedAtMs !== undefined) {
    return `took ${formatDuration(Math.max(0, finishedAtMs - startAtMs) / 1000)}`;
  }
  if (startAtMs > Date.now()) return `starts in ${formatDuration((startAtMs - Date.now()) / 1000)}`;
  return state === 'paused' ? 'nothing is sent until it is resumed' : '';
}

/** Messages a second over the last ten seconds. */
function rateOf(intervals: readonly OutcomeInterval[]): number {
  const nowMs = Date.now();
  const recent = intervals.filter(({ startMs }) => startMs > nowMs - 10_000);
  const sinceMs = Math.min(nowMs - 1000, ...recent.map(({ startMs }) => startMs));
  return recent.reduce((sum, { attempts }) => sum + attempts, 0) / ((nowMs - sinceMs) / 1000);
}

function renderCharts(broadcast: Broadcast, intervals: readonly OutcomeInterval[]): Html {
  const last = intervals.at(-1);
  if (last === undefined) return empty('Nothing has been sent yet.');
  const { startAtMs } = broadcast;
  const sinceMs = Math.min(startAtMs, intervals[0]!.startMs);
  const untilMs = last.startMs + last.widthMs;
  const widest = Math.max(...intervals.map(({ widthMs }) => widthMs));
  const count = Math.min(60, Math.max(1, Math.ceil((untilMs - sinceMs) / widest)));
  const services = toServiceBars(intervals, { sinceMs, untilMs, count });
  return serviceCharts(services, 'start', formatDuration((untilMs - sinceMs) / 1000));
}

function renderServices({ origins, heldBack, receipts }: Broadcast): Html {
  if (origins.length === 0) return empty('Nothing has been sent yet.');
  const held = new Map(heldBack.map(({ origin, rows }) => [origin, rows]));
  const reported = new Map(receipts?.map((counts) => [counts.origin, counts]));
  const events = receipts === undefined ? [] : receiptEvents;
  const columns = [
    { title: 'Push service', kind: 'short' },
    ...['attempts', ...settlements, 'held back', ...events].map(numberColumn),
  ] as const;
  const rows = origins
    .slice(0, maxOrigins)
    .map((counts) => [
      hostOf(counts.origin),
      ...[
        counts.attempts,
        ...settlements.map((name) => counts[name]),
        held.get(counts.origin) ?? 0,
        ...events.map((event) => reported.get(counts.origin)?.[event] ?? 0),
      ].map(formatCount),
    ]);
  return html`${table('Outcomes per push service', columns, rows)}
  ${
    origins.length > maxOrigins
      ? html`<p class="quiet">and ${formatCount(origins.length - maxOrigins)} more hosts</p>`
      : nothing
  }`;
}

const maxOrigins = 20;
const numberColumn = (name: string) => ({ title: capitalize(name), kind: 'number' }) as const;
const capitalize = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const attemptRows = 50;
/** Of one person that are looked at. */
const maxDevices = 20;

async function renderAttempts({ id }: Broadcast, query: unknown, store: Store): Promise<Html> {
  const given = Object.fromEntries(
    ['outcome', 'subscription', 'user'].map((name) => [name, textField(query, name)]),
  );
  const outcome = outcomes.find((known) => known === given['outcome']);
  const filter = { broadcastId: id, outcome, beforeId: idField(query, 'before'), limit: attemptRows };
  const subscriptionId = idField(query, 'subscription');
  const ids =
    given['user'] === '' || subscriptionId !== undefined
      ? [subscriptionId]
      : await devicesOf(given['user']!, store);
  const found = await Promise.all(
    ids.map((device) => store.broadcasts.attempts({ ...filter, subscriptionId: device })),
  );
  const attempts = found
    .flat()
    .sort((one, other) => other.id - one.id)
    .slice(0, attemptRows);
  const isFiltered = Object.values(given).some((value) => value !== '');
  return html`<section class="card" aria-labelledby="attempts">
    <h2 id="attempts">Attempts</h2>
    <form class="filters" method="get" action="/console/broadcasts/${id}#attempts" role="search">
      <label>
        Outcome
        ${select('outcome', [['', 'any'], ...outcomes.map((name) => [name, name] as const)], outcome ?? '')}
      </label>
      <label>
        Subscription
        <input type="search" name="subscription" inputmode="numeric" value="${given['subscription'] ?? ''}" />
      </label>
      <label>User <input type="search" name="user" value="${given['user'] ?? ''}" /></label>
      <button>Show</button>
    </form>
    ${
      attempts.length > 0
        ? attemptsTable(attempts, 'subscription')
        : empty(isFiltered ? 'No attempt fits.' : 'No attempt is remembered.')
    }
    ${
      attempts.length < attemptRows
        ? nothing
        : older(`/console/broadcasts/${id}`, { ...given, before: String(attempts.at(-1)!.id) })
    }
    <p class="quiet small">
      Of each broadcast, a thousand accepted attempts and ten thousand others are remembered, of the newest
      hundred broadcasts.
    </p>
  </section>`;
}

const outcomes = ['accepted', 'gone', 'rejected', 'retry'] as const;

async function devicesOf(user: string, { subscriptions }: Store): Promise<readonly number[]> {
  const rows = await subscriptions.page({
    afterId: 0,
    limit: maxDevices,
    matching: checkExpression({ user }),
  });
  return rows.map(({ id }) => id);
}

function renderMessage(broadcast: Broadcast): Html {
  const { payload, ttlSeconds, urgency, topic, perPerson, idempotencyKey, createdAtMs, expiresAtMs } =
    broadcast;
  const { title, message } = readPayloadTexts(payload);
  const whole = Buffer.from(payload).toString();
  return card(
    'Message',
    html`${
        title === '' && message === ''
          ? notice('warn', 'The payload is not a message with title and text.')
          : html`<div>
              <h3>${strange(title)}</h3>
              <p>${strange(message)}</p>
            </div>`
      }
      ${facts([
        ['Created', time(createdAtMs)],
        ['Until', time(expiresAtMs)],
        ['TTL', `${formatCount(ttlSeconds)} s`],
        ['Urgency', urgency],
        ...(topic === undefined ? [] : [['Topic', strange(topic)] as const]),
        ...(perPerson === undefined ? [] : [['At most per person', perPerson] as const]),
        ...(idempotencyKey === undefined ? [] : [['Idempotency key', strange(idempotencyKey)] as const]),
      ])}
      <details>
        <summary>Payload, ${formatCount(payload.length)} bytes</summary>
        <pre>${strange(whole)}</pre>
      </details>`,
  );
}
