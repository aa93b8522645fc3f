// One broadcast: its progress, its outcomes by push service and time, what is wrong, and how to stop it.
import { givenKey } from '../../../delivery/broadcast/create-broadcast.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { CountName } from '../../../delivery/broadcast/meanings.ts';
import {
  describeState,
  formatAlarm,
  formatAskedAudience,
  formatCreator,
  stateOf,
} from '../../../delivery/broadcast/format-broadcast.ts';
import { installationKinds } from '../../../delivery/alarms/alarm-kinds.ts';
import { readAlarms } from '../../../delivery/alarms/read-alarms.ts';
import type { StandingAlarm } from '../../../delivery/alarms/standing-alarm.ts';
import { pushServiceName } from '../../../protocol/known-push-services.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { readPayloadTexts } from '../../../protocol/message/read-message.ts';
import { type Alarm, type Broadcast, type BroadcastCreator, isOver } from '../../../store/broadcasts.ts';
import { broadcastChanges } from '../../../operations/broadcasts.ts';
import type { OperatorContext } from '../../context.ts';
import { sendOutcomes } from '../../send-message.ts';
import { type ConsoleSession, sessionOf } from '../sessions.ts';
import { renderAlarm, renderAlarms, renderStanding } from './alarms.ts';
import { card, facts, live, notice, prose, untrusted, timeFromNow, urlWith } from '../components.ts';
import {
  changes,
  type Deed,
  pages,
  postForm,
  type Question,
  sendDone,
  sendPage,
  sendQuestion,
  urlOf,
} from '../page.ts';
import { counted, figure, figuresOf, idText } from '../figures.ts';
import { audited, idField } from '../forms.ts';
import type { AddLive } from '../live.ts';
import { renderChanges, titleOf } from '../outcomes-table.ts';
import { byName, describeLanguage } from '../languages.ts';
import { optionFacts, renderTexts } from '../preview.ts';
import { hasReaders, renderReaders } from '../reader-counts.ts';
import { chosenAttempts, readAttempts, renderAttempts } from './broadcast-attempts.ts';
import { renderCharts, renderProgress, renderServices } from './broadcast-progress.ts';

/** The actions. Each has the states that permit it, the message and count to show afterwards, and a question to ask
 * first if the action cannot be undone. */
const controls = {
  pause: {
    text: 'Pause',
    from: ['preparing', 'running', 'scheduled'],
    said: ['paused', 'pending'],
    style: '',
  },
  resume: {
    text: 'Resume',
    from: ['paused'],
    said: ['resumed', 'pending'],
    style: 'primary',
    consequence: 'will be sent, as far as their TTL is not over.',
  },
  cancel: {
    text: 'Cancel',
    from: ['preparing', 'running', 'scheduled', 'paused'],
    said: ['cancelled', 'cancelled'],
    style: 'danger',
    consequence: 'will not be sent.',
  },
} as const satisfies Record<string, Control>;

interface Control {
  readonly text: string;
  readonly from: readonly ReturnType<typeof stateOf>[];
  readonly said: readonly [Deed, CountName];
  readonly style: string;
  readonly consequence?: string;
}

type ControlName = keyof typeof controls;

const allControls = Object.entries<Control>(controls) as [ControlName, Control][];

export function addBroadcastPages(app: FastifyInstance, parts: OperatorContext, addLive: AddLive): void {
  const { store, readWarnings } = parts;
  const find = ({ params }: Pick<FastifyRequest, 'params'>): Promise<Broadcast> =>
    store.broadcasts.get(idField(params, 'id') ?? 0);
  const readParts = async (broadcast: Broadcast, query: unknown) => {
    const { id } = broadcast;
    const intervals = await store.statistics.outcomesOf(id);
    const toCome = isOver(broadcast) ? [] : await store.broadcasts.timesToCome(id);
    return {
      progress: renderProgress(broadcast, intervals, {
        hasWorker: (await store.senders.list()).some(({ kind }) => kind === 'worker'),
        leftOut: await store.broadcasts.leftOut(id),
        nowMs: store.now(),
      }),
      charts: renderCharts(broadcast, intervals),
      services: renderServices(broadcast),
      ...(hasReaders(broadcast) && { readers: renderReaders(broadcast, toCome) }),
      changes: await renderChanges(store, `broadcast ${id}`),
      ...(await readAttempts(broadcast, query, store)),
    };
  };

  const readOwn = async (broadcast: Broadcast) => {
    const standing = isOver(broadcast) ? [] : (await readAlarms(store, readWarnings)).standing;
    return (session: ConsoleSession) => ({
      controls: renderControls(broadcast, session),
      alarms: renderAlarmsOf(broadcast, standing, session),
    });
  };

  addLive('/live/broadcasts/:id', async (address) => {
    const broadcast = await find(address);
    const [shared, own] = await Promise.all([readParts(broadcast, address.query), readOwn(broadcast)]);
    return { shared, own, status: describeStatus(broadcast) };
  });

  app.get('/broadcasts/:id', async (request, reply) => {
    const broadcast = await find(request);
    const session = sessionOf(request);
    const [shared, own] = await Promise.all([readParts(broadcast, request.query), readOwn(broadcast)]);
    return sendPage(reply, {
      title: `Broadcast ${idText('broadcast', broadcast.id)}`,
      entry: 'Broadcasts',
      lead: titleOf(broadcast),
      actions: live('controls', own(session).controls),
      liveUrl: isOver(broadcast)
        ? undefined
        : urlWith(`/console/live/broadcasts/${broadcast.id}`, chosenAttempts(request.query)),
      status: describeStatus(broadcast),
      content: html`
        ${live('alarms', own(session).alarms)} ${live('progress', shared.progress)}
        ${live('changes', shared.changes)}
        ${hasReaders(broadcast) && card('Readers', live('readers', shared.readers!))}
        ${card('Outcomes over its run', live('charts', shared.charts))}
        ${card('Push services', live('services', shared.services))}
        ${renderMessage(broadcast, broadcast.texts && (await store.broadcasts.texts(broadcast.id)))}
        ${await renderAttempts(broadcast, request.query, shared, store)}
      `,
    });
  });

  app.get('/broadcasts/:id/outcomes.csv', { exposeHeadRoute: false }, async (request, reply) => {
    const { id } = await find(request);
    return sendOutcomes(reply, store.attempts, id);
  });

  for (const [name, control] of allControls) {
    const { from, said, consequence } = control;
    const change = broadcastChanges[name];
    if (consequence !== undefined)
      app.get(`/broadcasts/:id/${name}`, async (request, reply) => {
        const broadcast = await find(request);
        // another operator has changed the state in the meantime
        if (!from.includes(stateOf(broadcast))) return reply.redirect(urlOfBroadcast(broadcast), 303);
        return sendQuestion(reply, toQuestion(broadcast, control));
      });

    app.post(`/broadcasts/:id/${name}`, audited(change.action), async (request, reply) => {
      const broadcast = await change.run(parts, await find(request), sessionOf(request).operator.name);
      const [deed, count] = said;
      return sendDone(reply, urlOfBroadcast(broadcast), deed, broadcast.counts[count]);
    });
  }
}

const urlOfBroadcast = ({ id }: Broadcast): string => urlOf('Broadcasts', id);

/** Renders active alarms that affect the broadcast, then the alarms that the broadcast itself raised. */
function renderAlarmsOf(
  broadcast: Broadcast,
  standing: readonly StandingAlarm[],
  session: ConsoleSession,
): Html {
  const concerning = standing.filter((alarm) => concerns(alarm, broadcast));
  const isSaid = ({ origin, reason }: Alarm): boolean =>
    concerning.some(({ kind, pushService }) => kind === reason && pushService === pushServiceName(origin));
  return renderAlarms([
    ...concerning.map((alarm) => renderStanding(alarm, session)),
    ...broadcast.alarms.filter((alarm) => !isSaid(alarm)).map((alarm) => renderAlarm(alarm, broadcast.id)),
  ]);
}

/** True if the alarm is about the whole installation, the broadcast, or one of the broadcast's push services. */
function concerns({ kind, pushService, broadcastIds }: StandingAlarm, { id, origins }: Broadcast): boolean {
  if (broadcastIds.includes(id) || installationKinds.has(kind)) return true;
  return origins.some(({ origin }) => pushServiceName(origin) === pushService);
}

/** The sentences that screen readers announce. */
const describeStatus = (broadcast: Broadcast): readonly string[] => [
  describeState(broadcast),
  ...broadcast.alarms.map((alarm) => `Alarm: ${formatAlarm(alarm)}`),
];

function renderControls(broadcast: Broadcast, session: ConsoleSession): Html {
  const url = urlOfBroadcast(broadcast);
  const possible = allControls.filter(([, { from }]) => from.includes(stateOf(broadcast)));
  return changes(
    session,
    html`${possible.map(([name, { text, style, consequence }]) =>
        consequence === undefined
          ? postForm(session, `${url}/${name}`, text, { style })
          : html`<a class="button ${style}" href="${url}/${name}">${text}…</a>`,
      )} <a class="button" href="${urlWith(pages.Send, { from: String(broadcast.id) })}">Duplicate</a>`,
  );
}

function toQuestion(broadcast: Broadcast, { text, style, consequence }: Control): Question {
  const { id, counts, recipients } = broadcast;
  const shown = figuresOf('broadcast', id);
  return {
    title: `${text} broadcast ${idText('broadcast', broadcast.id)}?`,
    entry: 'Broadcasts',
    lead: titleOf(broadcast),
    consequence: html`${shown('pending', counts.pending)} of
    ${shown('recipients', recipients, counted('message'))} ${consequence}`,
    button: `${text} the broadcast`,
    style,
    backUrl: urlOfBroadcast(broadcast),
  };
}

/** @param texts the message's texts by language */
function renderMessage(broadcast: Broadcast, texts: ReadonlyMap<string, Uint8Array> = new Map()): Html {
  const { id, payload, idempotencyKey, audience, createdBy, createdAtMs, expiresAtMs } = broadcast;
  const { title, message } = readPayloadTexts(payload);
  const shown = figuresOf('broadcast', id);
  return card(
    'Message',
    html`${
      title === '' && message === ''
        ? notice('warn', 'The payload is not a message with title and text.')
        : renderTexts({ title, message })
    }
    ${facts([
      ['To', untrusted(formatAskedAudience(audience))],
      ['By', renderCreator(createdBy)],
      ['Created', shown('createdAt', createdAtMs, timeFromNow)],
      ['Until', shown('expiresAt', expiresAtMs, timeFromNow)],
      ...optionFacts('broadcast', { ...broadcast, receipts: broadcast.receipts && true }),
      ...(idempotencyKey === undefined
        ? []
        : [['Idempotency key', untrusted(givenKey(idempotencyKey))] as const]),
    ])}
    ${renderPayload('Payload', payload, `${id}`)}
    ${[...texts]
      .toSorted(([one], [other]) => byName(one, other))
      .map(([language, text]) =>
        renderPayload(
          `In ${describeLanguage(language)}`,
          text,
          `${id} ${language}`,
          renderTexts(readPayloadTexts(text)),
        ),
      )}`,
  );
}

const renderPayload = (name: string, payload: Uint8Array, of: string, text?: Html): Html =>
  html`<details>
    <summary>${name}, ${figure('broadcast.payloadBytes', payload.length, of)} bytes</summary>
    ${text}
    <pre>${prose(Buffer.from(payload).toString())}</pre>
  </details>`;

function renderCreator(creator: BroadcastCreator | undefined): Html {
  const text = untrusted(formatCreator(creator));
  return creator !== undefined && 'schedule' in creator
    ? html`<a href="${urlOf('Schedules', creator.schedule)}">${text}</a>`
    : text;
}
