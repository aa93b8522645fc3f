// Schedules: recurring broadcasts, each with its next times and the outcome of its last broadcast.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { formatAskedAudience, formatCreator } from '../../../delivery/broadcast/format-broadcast.ts';
import { type ScheduleWithTimes, withTimes } from '../../../delivery/schedule/create-schedule.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { continueSchedule, pauseSchedule, removeSchedule } from '../../../operations/schedules.ts';
import type { Broadcast } from '../../../store/broadcasts.ts';
import type { Schedule, ScheduleAudience } from '../../../store/schedules.ts';
import type { Store } from '../../../store/store.ts';
import type { OperatorContext } from '../../context.ts';
import { readPage } from '../../searches.ts';
import { type ConsoleSession, sessionOf } from '../sessions.ts';
import {
  badge,
  card,
  facts,
  number,
  older,
  stateBadge,
  table,
  time,
  untrusted,
  wide,
} from '../components.ts';
import { figure, idText } from '../figures.ts';
import { audited, idField } from '../forms.ts';
import { renderChanges, scheduleTitle } from '../outcomes-table.ts';
import { optionFacts, outcomesOf, renderTexts } from '../preview.ts';
import {
  broadcastLink,
  changes,
  pages,
  postForm,
  type Question,
  sendDone,
  sendPage,
  sendQuestion,
  urlOf,
} from '../page.ts';

const pageRows = 25;

/** A schedule with its times and its last broadcast, which may have been deleted. */
interface ShownSchedule extends ScheduleWithTimes {
  readonly last: Broadcast | undefined;
}

export function addSchedulePages(app: FastifyInstance, parts: OperatorContext): void {
  const { store } = parts;
  const { schedules } = store;
  const find = ({ params }: Pick<FastifyRequest, 'params'>): Promise<Schedule> =>
    schedules.get(idField(params, 'id') ?? 0);

  app.get('/schedules', async (request, reply) => {
    const session = sessionOf(request);
    const afterId = idField(request.query, 'after') ?? 0;
    const { items, next } = await readPage(pageRows, (limit) => schedules.list({ afterId, limit }));
    const shown = await describe(items, store);
    return sendPage(reply, {
      title: 'Schedules',
      lead: html`Broadcasts that recur: <code>deskbell send --cron</code> and
        <code>POST /v1/schedules</code> store them.`,
      content: html`
        ${table(
          'Schedules',
          shown.map((schedule) => renderRow(schedule, session)),
          afterId === 0 ? 'No schedules yet.' : 'No more schedules.',
        )}
        ${older(pages.Schedules, {}, 'after', next, 'Next')}
      `,
    });
  });

  app.get('/schedules/:id', async (request, reply) => {
    const session = sessionOf(request);
    const [schedule] = (await describe([await find(request)], store)) as [ShownSchedule];
    return sendPage(reply, {
      title: `Schedule ${idText('schedule', schedule.id)}`,
      entry: 'Schedules',
      lead: scheduleTitle(schedule),
      actions: renderActions(schedule, session),
      content: html`
        ${card('When', html`${renderWhen(schedule)} ${await renderChanges(store, `schedule ${schedule.id}`)}`)}
        ${card('What, and to whom', renderWhat(schedule))}
      `,
    });
  });

  for (const [name, change] of [
    ['pause', pauseSchedule],
    ['resume', continueSchedule],
  ] as const)
    app.post(`/schedules/:id/${name}`, audited(change.action), async (request, reply) => {
      const { operator } = sessionOf(request);
      const { id } = await change.run(parts, await find(request), operator.name);
      return reply.redirect(`${pages.Schedules}/${id}`, 303);
    });

  app.get('/schedules/:id/remove', async (request, reply) =>
    sendQuestion(reply, toQuestion(await find(request))),
  );

  app.post('/schedules/:id/remove', audited(removeSchedule.action), async (request, reply) => {
    const { id } = await find(request);
    await removeSchedule.run(parts, { id }, sessionOf(request).operator.name);
    return sendDone(reply, pages.Schedules, 'scheduleRemoved');
  });
}

async function describe(
  schedules: readonly Schedule[],
  { broadcasts }: Store,
): Promise<readonly ShownSchedule[]> {
  const ids = schedules.flatMap(({ lastBroadcastId }) => lastBroadcastId ?? []);
  const byId = new Map((await broadcasts.findAll(ids)).map((broadcast) => [broadcast.id, broadcast]));
  return Promise.all(
    schedules.map(async (schedule) => ({
      ...(await withTimes(schedule)),
      last: byId.get(schedule.lastBroadcastId ?? 0),
    })),
  );
}

const renderRow = (schedule: ShownSchedule, session: ConsoleSession) => ({
  Id: number(idText('schedule', schedule.id)),
  'Message, to whom': wide(
    html`<a href="${urlOf('Schedules', schedule.id)}">${scheduleTitle(schedule)}</a>
      <div class="quiet small">to ${renderAudience(schedule.audience)}</div>`,
  ),
  When: renderCron(schedule),
  'Next three times': renderTimes(schedule),
  'Last result': wide(renderLast(schedule)),
  Change: renderActions(schedule, session, 'small-button'),
});

const renderCron = ({ cron, timezone }: Schedule): Html =>
  html`<code>${cron}</code><br /><span class="quiet small">${timezone}</span>`;

function renderTimes({ id, nextTimes, pausedAtMs }: ShownSchedule): Html {
  if (pausedAtMs === undefined)
    return html`${nextTimes.map((atMs) => html`<div>${figure('schedule.nextAt', atMs, id, time)}</div>`)}`;
  return html`${badge('paused', 'warn')}
    <div class="quiet small">since ${figure('schedule.pausedAt', pausedAtMs, id, time)}</div>`;
}

function renderLast({ lastBroadcastId, last }: ShownSchedule): Html {
  if (lastBroadcastId === undefined) return html`<span class="quiet">nothing sent yet</span>`;
  if (last === undefined)
    return html`<span class="quiet">broadcast ${idText('broadcast', lastBroadcastId)}, no longer kept</span>`;
  return html`${broadcastLink(last.id, 'Broadcast ')} ${stateBadge(last)} ${outcomesOf(last)}`;
}

const renderAudience = (audience: ScheduleAudience): Html => untrusted(formatAskedAudience(audience));

function renderActions({ id, pausedAtMs }: Schedule, session: ConsoleSession, style = ''): Html {
  const address = `${pages.Schedules}/${id}`;
  return changes(
    session,
    html`${
        pausedAtMs === undefined
          ? postForm(session, `${address}/pause`, 'Pause', { style })
          : postForm(session, `${address}/resume`, 'Resume', { style: `${style} primary` })
      } <a class="button ${style}" href="${address}/remove">Remove…</a>`,
  );
}

const renderWhen = (schedule: ShownSchedule): Html =>
  html`${facts([
      ['Cron, time zone', renderCron(schedule)],
      [schedule.pausedAtMs === undefined ? 'Next three times' : 'State', renderTimes(schedule)],
      ['Last result', renderLast(schedule)],
      ['Created', figure('schedule.createdAt', schedule.createdAtMs, schedule.id, time)],
      ['By', untrusted(formatCreator(schedule.createdBy))],
    ])}
    <p class="quiet small">
      ${
        schedule.pausedAtMs === undefined
          ? 'While it is paused, its times pass without a broadcast: they are not made up for.'
          : 'Resumed, it goes on with its next time. Those that have passed during the pause are not made up for.'
      }
    </p>`;

function renderWhat(schedule: ShownSchedule): Html {
  const { message, audience } = schedule;
  return html`${renderTexts(message)}
    ${facts([['To', renderAudience(audience)], ...optionFacts('schedule', schedule)])}
    <details>
      <summary>Message as JSON</summary>
      <pre>${untrusted(JSON.stringify(message, undefined, 2))}</pre>
    </details>`;
}

const toQuestion = (schedule: Schedule): Question => ({
  title: `Remove schedule ${idText('schedule', schedule.id)}?`,
  entry: 'Schedules',
  lead: scheduleTitle(schedule),
  consequence: html`It makes no more broadcasts. Those that it has made stay.`,
  button: 'Remove the schedule',
  backUrl: `${pages.Schedules}/${schedule.id}`,
});
