// Push services: which accept our messages, which refuse them, and why. Held deletions are confirmed or discarded here;
// before confirming, the operator is shown their number and asked again.
import { formatSpan } from '../../../errors/format-count.ts';
import type { FastifyInstance } from 'fastify';
import { findUnanimous, judgedMs } from '../../../delivery/alarms/push-service-conditions.ts';
import { readAlarms } from '../../../delivery/alarms/read-alarms.ts';
import type { FoundAlarm } from '../../../delivery/alarms/standing-alarm.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { pushServiceName } from '../../../protocol/known-push-services.ts';
import type { AnswerCount } from '../../../store/attempts.ts';
import type { HeldOrigin } from '../../../store/held-deletions.ts';
import { outcomeWidths } from '../../../store/statistics.ts';
import type { Store } from '../../../store/store.ts';
import type { OperatorContext } from '../../context.ts';
import { type PushServiceView, readPushServices } from '../../push-services.ts';
import { renderAlarms, renderStanding } from './alarms.ts';
import { sumsText, toServiceBars } from '../charts.ts';
import {
  badge,
  card,
  live,
  moreHosts,
  number,
  service as nameOf,
  table,
  time,
  untrusted,
  urlWith,
  wide,
} from '../components.ts';
import { counted, figure, figuresOf } from '../figures.ts';
import { audited, idField, textField } from '../forms.ts';
import type { AddLive } from '../live.ts';
import { answersTable } from '../outcomes-table.ts';
import { changes, pages, postForm, type Question, sendDone, sendPage, sendQuestion } from '../page.ts';
import { type ConsoleSession, sessionOf } from '../sessions.ts';

const backUrl = pages['Push services'];

export function addHeldDeletionPages(app: FastifyInstance, { store }: OperatorContext): void {
  const find = async (asked: string): Promise<HeldOrigin | undefined> =>
    (await store.heldDeletions.list()).find(({ origin }) => origin === asked);

  app.get('/held-deletions/confirm', async (request, reply) => {
    const held = await find(textField(request.query, 'origin'));
    // another operator has decided in the meantime
    if (held === undefined) return reply.redirect(backUrl, 303);
    return sendQuestion(reply, toQuestion(held));
  });

  for (const [decision, deed] of [
    ['confirm', 'confirmed'],
    ['discard', 'discarded'],
  ] as const) {
    app.post(
      `/held-deletions/${decision}`,
      audited(`held-deletions.${decision}`, ({ body }) => `push service ${textField(body, 'origin')}`),
      async (request, reply) => {
        const origin = textField(request.body, 'origin');
        const agreedTo = idField(request.body, 'subscriptions') ?? Infinity;
        // more deletions are waiting than the operator saw when confirming, so ask again
        if (((await find(origin))?.subscriptions ?? 0) > agreedTo)
          return reply.redirect(urlWith('/console/held-deletions/confirm', { origin }), 303);
        const count = await store.heldDeletions[decision](origin);
        return sendDone(reply, backUrl, deed, count);
      },
    );
  }
}

function toQuestion({ origin, subscriptions }: HeldOrigin): Question {
  const count = figure('held.subscriptions', subscriptions, new URL(origin).host, counted('subscription'));
  return {
    title: `Delete ${count}?`,
    entry: 'Push services',
    consequence: html`${pushServiceName(origin)} calls them gone, and accepted almost nothing at the same
    time. Their browsers get nothing more until their pages register them again.`,
    button: `Delete ${count}`,
    fields: { origin, subscriptions: String(subscriptions) },
    backUrl,
  };
}

function renderHeldDeletions(held: readonly HeldOrigin[], session: ConsoleSession): Html {
  return html`<p>
      These push services called subscriptions gone and accepted almost nothing at the same time. Delete them
      if the push service is right; keep them, and they stay in later audiences.
    </p>
    ${table(
      'Held deletions',
      held.map(({ origin, subscriptions, sinceMs }) => ({
        'Push service': renderHeldBy(origin),
        Subscriptions: number(figure('held.subscriptions', subscriptions, new URL(origin).host)),
        Since: figure('held.since', sinceMs, new URL(origin).host, time),
        Decision: changes(
          session,
          html`${postForm(session, '/console/held-deletions/discard', 'Keep them', {
              style: 'small-button',
              fields: { origin },
            })}
            <a class="button small-button" href="${urlWith('/console/held-deletions/confirm', { origin })}">
              Delete them…
            </a>`,
        ),
      })),
    )}`;
}

/** Names the push service, and also the host if the push service has several hosts. */
const renderHeldBy = (origin: string): Html => {
  const { host } = new URL(origin);
  return html`${nameOf(origin)}
  ${host !== pushServiceName(origin) && html`<div class="quiet small">${host}</div>`}`;
};

/** The number of recent broadcasts that are searched for messages that were not accepted. */
const recentBroadcasts = 20;

export function addPushServicesPage(
  app: FastifyInstance,
  { store, readWarnings }: OperatorContext,
  addLive: AddLive,
): void {
  const readOwn = async () => {
    const { standing } = await readAlarms(store, readWarnings);
    const concerned = standing.filter(({ pushService }) => pushService !== '');
    return (session: ConsoleSession) => ({
      alarms: renderAlarms(concerned.map((alarm) => renderStanding(alarm, session))),
    });
  };
  addLive('/live/push-services', async () => {
    const [shared, own] = await Promise.all([renderParts(store), readOwn()]);
    return { shared, own };
  });

  app.get('/push-services', async (request, reply) => {
    const session = sessionOf(request);
    const [own, parts, held, answers] = await Promise.all([
      readOwn(),
      renderParts(store),
      store.heldDeletions.list(),
      readAnswers(store),
    ]);
    return sendPage(reply, {
      title: 'Push services',
      liveUrl: '/console/live/push-services',
      content: html`
        ${live('alarms', own(session).alarms)}
        ${held.length > 0 && card('Deletions that wait for you', renderHeldDeletions(held, session))}
        ${card('Now', live('now', parts.now))} ${card('The last hour', live('hour', parts.hour))}
        ${card(
          'What was not accepted, and why',
          html`<p class="quiet small">
              In the newest ${String(recentBroadcasts)} broadcasts, each time counted.
            </p>
            ${answersTable(answers, 'Nothing.', 'newest')}`,
        )}
      `,
    });
  });
}

async function renderParts(store: Store) {
  const [services, hour, day] = await Promise.all([
    readPushServices(store, pushServiceName),
    renderHour(store),
    store.statistics.outcomes({ width: 'coarse', sinceMs: store.now() - judgedMs }),
  ]);
  return { now: renderNow(services, findUnanimous(day)), hour };
}

/** The maximum number of push services to show; the browsers of one vendor may use any number of hosts. */
const shownServices = 50;

function renderNow(services: readonly PushServiceView[], unanimous: readonly FoundAlarm[]): Html {
  return html`${table(
    'Push services now',
    services.slice(0, shownServices).map((service) => {
      const shown = figuresOf('service', service.origin);
      const alarm = unanimous.find(({ pushService }) => pushService === service.origin);
      return {
        'Push service': nameOf(service.origin),
        State: wide(renderState(service, alarm)),
        Connections: number(shown('connections', service.connections)),
        Latency: number(service.latencyMs === undefined ? '' : `${shown('latencyMs', service.latencyMs)} ms`),
        'In flight': number(
          html`${shown('inFlight', service.inFlight)} of
          ${shown('maxInFlight', service.maxInFlight)}${service.queued > 0 && html`<br /><span class="quiet">${shown('queued', service.queued)} waiting</span>`}`,
        ),
      };
    }),
    'Nobody is sending.',
  )}
  ${moreHosts(services.length - shownServices)}`;
}

const breakerBadges = {
  closed: badge('takes messages', 'good'),
  'half-open': badge('is being tried', 'warn'),
  open: badge('gets nothing for a while', 'bad'),
} as const;

/** @param alarm raised if nearly all responses of the push service are the same */
function renderState(service: PushServiceView, alarm: FoundAlarm | undefined): Html {
  const { origin, breaker, breakerReason, refusedKeys, throttled, unreachableMs } = service;
  const shown = figuresOf('service', origin);
  if (refusedKeys.length > 0 && unreachableMs === undefined) return badge('refuses our token', 'bad');
  const because =
    breakerReason !== undefined &&
    html`<span class="quiet">${shown('breakerReason', breakerReason, untrusted)}</span>`;
  if (unreachableMs !== undefined) {
    const span = shown('unreachableSeconds', unreachableMs / 1000, formatSpan);
    return html`${badge('cannot be reached', 'bad')} <span class="quiet">for ${span}.</span> ${because}`;
  }
  const answers =
    alarm && badge(alarm.kind === 'all-gone' ? 'calls nearly all gone' : 'accepts almost nothing', 'bad');
  return html`${breaker === 'closed' ? (answers ?? breakerBadges.closed) : breakerBadges[breaker]} ${because}
  ${
    throttled > 0 &&
    html`<span class="quiet"
      >${shown('throttled', throttled, counted('answer'))} asked for fewer messages</span
    >`
  }`;
}

async function renderHour(store: Store): Promise<Html> {
  const { widthMs } = outcomeWidths.fine;
  const untilMs = store.now();
  const sinceMs = untilMs - (untilMs % widthMs) - 60 * 60 * 1000;
  const intervals = await store.statistics.outcomes({ width: 'fine', sinceMs });
  const services = toServiceBars(intervals, { sinceMs, stepMs: untilMs - sinceMs, count: 1 });
  return table(
    'Push services in the last hour',
    services.map(({ pushService, sums }) => ({
      'Push service': nameOf(pushService),
      Messages: number(figure('services.attempts', sums.attempts, `lastHour ${pushService}`)),
      'What came of them': wide(sumsText(sums, `lastHour ${pushService}`)),
    })),
    'Nothing was sent in the last hour.',
  );
}

async function readAnswers({ broadcasts, attempts }: Store): Promise<readonly AnswerCount[]> {
  const newest = await broadcasts.summaries({ limit: recentBroadcasts });
  return attempts.countAnswers(newest.map(({ id }) => id));
}
