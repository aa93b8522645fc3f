// One broadcast: how far it is, what came of it at each push service and when, what is wrong, and how to stop it.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { CountName } from '../../../delivery/broadcast/count-meanings.ts';
import { formatAskedAudience, formatCreator } from '../../../delivery/broadcast/describe-source.ts';
import {
  describeState,
  formatAlarm,
  formatCount,
  stateOf,
} from '../../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { readPayloadTexts } from '../../../protocol/message/read-payload.ts';
import type { BroadcastCreator } from '../../../store/broadcast-source.ts';
import { isOver, type Broadcast, type TimeToCome } from '../../../store/broadcasts.ts';
import {
  deliveryOptions,
  pickDeliveryOptions,
  type DeliveryOptions,
} from '../../../store/delivery-options.ts';
import type { OutcomeInterval } from '../../../store/statistics.ts';
import type { OperatorContext } from '../../context.ts';
import { sendOutcomes } from '../../send-outcomes.ts';
import { sessionOf } from '../require-session.ts';
import { renderAlarm, renderAlarms } from '../alarms.ts';
import { card, facts, live, notice, prose, untrusted, timeFromNow, urlWith } from '../components.ts';
import { countOf, doneUrl, type Deed } from '../done.ts';
import { formatSpan } from '../duration.ts';
import { audited, idField, textField } from '../forms.ts';
import type { AddLive } from '../live.ts';
import { confirmation, pages, postForm, sendPage } from '../page.ts';
import type { ConsoleSession } from '../sessions.ts';
import { titleOf } from '../broadcast-title.ts';
import { describeLanguage } from '../languages.ts';
import { hasReaders, renderReaders } from '../reader-counts.ts';
import { renderAttempts } from './broadcast-attempts.ts';
import { renderCharts, renderProgress, renderServices } from './broadcast-progress.ts';

const controls = {
  pause: { text: 'Pause', from: ['preparing', 'running', 'scheduled'], style: '' },
  resume: { text: 'Resume', from: ['paused'], style: 'primary' },
  cancel: { text: 'Cancel', from: ['preparing', 'running', 'scheduled', 'paused'], style: '' },
} as const;

type ControlName = keyof typeof controls;

/** What cannot be undone is asked about. */
const questions = {
  resume: {
    question: 'Resume',
    button: 'Resume the broadcast',
    style: 'primary',
    consequence: 'will be sent, as far as their TTL is not over.',
  },
  cancel: {
    question: 'Cancel',
    button: 'Cancel the broadcast',
    style: 'danger',
    consequence: 'will not be sent.',
  },
} as const;

type AskedControl = keyof typeof questions;

/** What is said afterwards, and which count of the broadcast with it. */
const deeds = {
  pause: ['paused', 'pending'],
  resume: ['resumed', 'pending'],
  cancel: ['cancelled', 'cancelled'],
} as const satisfies Record<ControlName, readonly [Deed, CountName]>;

export function addBroadcastPages(app: FastifyInstance, { store }: OperatorContext, addLive: AddLive): void {
  const find = ({ params }: Pick<FastifyRequest, 'params'>): Promise<Broadcast> =>
    store.broadcasts.get(idField(params, 'id') ?? 0);
  const readParts = async (broadcast: Broadcast) =>
    renderParts(
      broadcast,
      await store.statistics.outcomesOf(broadcast.id),
      isOver(broadcast) ? [] : await store.broadcasts.timesToCome(broadcast.id),
    );

  addLive('/live/broadcasts/:id', async (address) => {
    const broadcast = await find(address);
    return {
      shared: await readParts(broadcast),
      own: (session) => ({ controls: renderControls(broadcast, session) }),
      status: describeStatus(broadcast),
    };
  });

  app.get('/broadcasts/:id', async (request, reply) => {
    const broadcast = await find(request);
    const session = sessionOf(request);
    const parts = await readParts(broadcast);
    return sendPage(reply, session, {
      title: `Broadcast ${broadcast.id}`,
      entry: 'Broadcasts',
      lead: html`<p class="quiet">${titleOf(broadcast)}</p>`,
      actions: live('controls', renderControls(broadcast, session)),
      liveUrl: isOver(broadcast) ? undefined : `/console/live/broadcasts/${broadcast.id}`,
      status: describeStatus(broadcast),
      content: html`
        ${live('progress', parts.progress)} ${live('alarms', parts.alarms)}
        ${hasReaders(broadcast) && card('Readers', live('readers', parts.readers!))}
        ${card('Outcomes over its run', live('charts', parts.charts))}
        ${card('Push services', live('services', parts.services))}
        ${renderMessage(broadcast, broadcast.texts && (await store.broadcasts.texts(broadcast.id)))}
        ${await renderAttempts(broadcast, request.query, store)}
      `,
    });
  });

  app.get('/broadcasts/:id/outcomes.csv', { exposeHeadRoute: false }, async (request, reply) => {
    const { id } = await find(request);
    return sendOutcomes(reply, store.attempts, id);
  });

  for (const name of Object.keys(questions) as AskedControl[]) {
    app.get(`/broadcasts/:id/${name}`, async (request, reply) => {
      const broadcast = await find(request);
      // done in the meantime
      if (!isPossible(name, broadcast)) return reply.redirect(`/console/broadcasts/${broadcast.id}`, 303);
      return sendPage(reply, sessionOf(request), renderConfirmation(broadcast, name, sessionOf(request)));
    });
  }

  for (const name of Object.keys(controls) as ControlName[]) {
    app.post(
      `/broadcasts/:id/${name}`,
      audited(`broadcast.${name}`, ({ params }) => `broadcast ${textField(params, 'id')}`),
      async (request, reply) => {
        const broadcast = await store.broadcasts[name]((await find(request)).id);
        const url = `/console/broadcasts/${broadcast.id}`;
        const [deed, count] = deeds[name];
        return reply.redirect(doneUrl(sessionOf(request), url, deed, broadcast.counts[count]), 303);
      },
    );
  }
}

const renderParts = (
  broadcast: Broadcast,
  intervals: readonly OutcomeInterval[],
  toCome: readonly TimeToCome[],
) => ({
  progress: renderProgress(broadcast, intervals),
  alarms: renderAlarms(broadcast.alarms.map((alarm) => renderAlarm(alarm))),
  charts: renderCharts(broadcast, intervals),
  services: renderServices(broadcast),
  ...(hasReaders(broadcast) && { readers: renderReaders(broadcast, toCome) }),
});

/** What is announced to who cannot see it change. */
const describeStatus = (broadcast: Broadcast): readonly string[] => [
  describeState(broadcast),
  ...broadcast.alarms.map((alarm) => `Alarm: ${formatAlarm(alarm)}`),
];

const isPossible = (name: ControlName, broadcast: Broadcast): boolean =>
  (controls[name].from as readonly string[]).includes(stateOf(broadcast));

function renderControls(broadcast: Broadcast, session: ConsoleSession): Html {
  const names = Object.keys(controls) as ControlName[];
  const possible = names.filter((name) => isPossible(name, broadcast));
  if (!session.mayChange) return html``;
  const url = `/console/broadcasts/${broadcast.id}`;
  return html`<div class="buttons">
    ${possible.map((name) => {
      const { text, style } = controls[name];
      return name in questions
        ? html`<a class="button ${style}" href="${url}/${name}">${text}…</a>`
        : postForm(session, `${url}/${name}`, text, { style });
    })}
    <a class="button" href="${urlWith(pages.Send, { from: String(broadcast.id) })}">Duplicate</a>
  </div>`;
}

function renderConfirmation(broadcast: Broadcast, name: AskedControl, session: ConsoleSession) {
  const { id, counts, recipients } = broadcast;
  const { question, button, consequence, style } = questions[name];
  const number = html`${formatCount(counts.pending)} of ${countOf(recipients, 'message')}`;
  return {
    title: `${question} broadcast ${id}?`,
    entry: 'Broadcasts',
    lead: html`<p class="quiet">${titleOf(broadcast)}</p>`,
    content: confirmation(
      html`${number} ${consequence}`,
      session.mayChange ? postForm(session, `/console/broadcasts/${id}/${name}`, button, { style }) : html``,
      `/console/broadcasts/${id}`,
    ),
  } as const;
}

/** @param texts by language */
function renderMessage(broadcast: Broadcast, texts: ReadonlyMap<string, Uint8Array> = new Map()): Html {
  const { payload, idempotencyKey, audience, createdBy, createdAtMs, expiresAtMs } = broadcast;
  const { title, message } = readPayloadTexts(payload);
  return card(
    'Message',
    html`${
      title === '' && message === ''
        ? notice('warn', 'The payload is not a message with title and text.')
        : renderText(payload)
    }
    ${facts([
      ['To', untrusted(formatAskedAudience(audience))],
      ['By', renderCreator(createdBy)],
      ['Created', timeFromNow(createdAtMs)],
      ['Until', timeFromNow(expiresAtMs)],
      ...renderOptions(broadcast),
      ...(idempotencyKey === undefined ? [] : [['Idempotency key', untrusted(idempotencyKey)] as const]),
    ])}
    ${renderPayload('Payload', payload)}
    ${[...texts].map(([language, text]) =>
      renderPayload(`In ${describeLanguage(language)}`, text, renderText(text)),
    )}`,
  );
}

function renderText(payload: Uint8Array): Html {
  const { title, message } = readPayloadTexts(payload);
  return html`<div>
    <h3>${prose(title)}</h3>
    <p>${prose(message)}</p>
  </div>`;
}

const renderPayload = (name: string, payload: Uint8Array, text?: Html): Html =>
  html`<details>
    <summary>${name}, ${formatCount(payload.length)} bytes</summary>
    ${text}
    <pre>${prose(Buffer.from(payload).toString())}</pre>
  </details>`;

function renderCreator(creator: BroadcastCreator | undefined): Html {
  const text = untrusted(formatCreator(creator));
  return creator !== undefined && 'schedule' in creator
    ? html`<a href="${pages.Schedules}/${creator.schedule}">${text}</a>`
    : text;
}

const renderOptions = ({ receipts: _counts, ...broadcast }: Broadcast) =>
  Object.entries(pickDeliveryOptions(broadcast)).map(([name, value]) =>
    name === 'ttlSeconds'
      ? (['TTL', formatSpan(Number(value), 4)] as const)
      : ([deliveryOptions[name as keyof DeliveryOptions].field.label, untrusted(String(value))] as const),
  );
