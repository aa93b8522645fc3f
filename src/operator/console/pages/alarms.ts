// Shows alarms: what is wrong, since when, the push service's own words, what to do, and who acknowledged the alarm.
// This file also has the page on which an operator acknowledges an alarm.
import type { FastifyInstance } from 'fastify';
import { rankOf } from '../../../delivery/alarms/alarm-kinds.ts';
import { findAlarm, readAlarms } from '../../../delivery/alarms/read-alarms.ts';
import {
  formatAlarmCount,
  maxNoteLength,
  type StandingAlarm,
} from '../../../delivery/alarms/standing-alarm.ts';
import { meaningOf } from '../../../delivery/broadcast/meanings.ts';
import { html, type Html } from '../../../http/description/html.ts';
import type { Alarm } from '../../../store/broadcasts.ts';
import { acknowledge } from '../../../operations/alarms.ts';
import type { OperatorContext } from '../../context.ts';
import { notice, timeFromNow, untrusted, urlWith } from '../components.ts';
import { counted, figure, figuresOf } from '../figures.ts';
import { audited, textField } from '../forms.ts';
import { broadcastLink, pages, sendPage } from '../page.ts';
import { type ConsoleSession, csrfField, sessionOf } from '../sessions.ts';
import { pushServiceName } from '../../../protocol/known-push-services.ts';

export const renderAlarms = (alarms: readonly Html[]): Html =>
  html`${
    alarms.length > 0 &&
    html`<section class="alarms" aria-labelledby="alarms">
      <h2 id="alarms">Alarms</h2>
      ${alarms}
    </section>`
  }`;

/** How many of an alarm's most recent broadcasts are named. Earlier broadcasts are only counted. */
const namedBroadcasts = 10;

/** Shows an alarm, a link to its remedy, and a link to acknowledge the alarm if the viewer may do that. */
export function renderStanding(alarm: StandingAlarm, { mayChange }: ConsoleSession): Html {
  const { id, what, link, acknowledgement } = alarm;
  return notice(
    acknowledgement === undefined && alarm.rank === 'urgent' ? 'bad' : 'warn',
    what,
    html`${describeStanding(alarm)}
      <p class="small">
        <a href="${link}">${nameOf(link)}</a>
        ${
          acknowledgement === undefined &&
          mayChange &&
          html`· <a href="${urlWith('/console/alarms/acknowledge', { alarm: id })}">Acknowledge</a>`
        }
      </p>`,
  );
}

const nameOf = (link: string): string =>
  Object.entries(pages).find(([, url]) => url === link)?.[0] ?? `Broadcast ${link.split('/').at(-1)}`;

/** Describes an alarm, except its title. */
function describeStanding(alarm: StandingAlarm): Html {
  const { remedy, detail, sinceMs, kind, broadcastIds, acknowledgement } = alarm;
  const shown = figuresOf('alarm', alarm.id);
  const count = shown('count', alarm.count, () => formatAlarmCount(alarm));
  return html`${remedy !== '' && html`<p>${remedy}</p>`}
    <p class="quiet small">
      ${count !== '' && html`${count} · `}${sinceMs !== undefined && html`since ${shown('since', sinceMs, timeFromNow)} · `}
      ${nameBroadcasts(broadcastIds)}<code>${kind}</code>${
        detail !== '' && html` · its reason: “${untrusted(detail)}”`
      }
    </p>
    ${
      acknowledgement &&
      html`<p class="small">
        <strong>${acknowledgement.operator}</strong> knows of it since
        ${shown('acknowledgedAt', acknowledgement.atMs, timeFromNow)}: “${untrusted(acknowledgement.note)}”
      </p>`
    }`;
}

function nameBroadcasts(ids: readonly number[]): Html | false {
  if (ids.length === 0) return false;
  const named = ids.toReversed().slice(0, namedBroadcasts);
  const others = ids.length - named.length;
  const links = named.map((id, index) => html`${index > 0 && ', '}${broadcastLink(id)}`);
  return html`${ids.length === 1 ? 'broadcast' : 'broadcasts'}
  ${links}${others > 0 && html` and ${figure('alarm.otherBroadcasts', others)} others`} · `;
}

/** Shows an alarm of a broadcast on the broadcast's page. */
export function renderAlarm(alarm: Alarm, broadcastId: number): Html {
  const { origin, reason, detail, rows, firstAtMs } = alarm;
  const shown = figuresOf('raised', `${broadcastId} ${origin} ${reason}`);
  const { meaning, remedy } = meaningOf(reason);
  return notice(
    rankOf(reason) === 'urgent' ? 'bad' : 'warn',
    origin === '' ? meaning || reason : `${pushServiceName(origin)}: ${meaning || reason}`,
    html`${remedy !== '' && html`<p>${remedy}</p>`}
      <p class="quiet small">
        ${shown('rows', rows, counted('message'))}, first ${shown('firstAt', firstAtMs, timeFromNow)} ·
        <code>${reason}</code>${detail !== '' && html` · its reason: “${untrusted(detail)}”`}
      </p>`,
  );
}

export function addAlarmPage(app: FastifyInstance, parts: OperatorContext): void {
  const { store, readWarnings } = parts;
  app.get('/alarms/acknowledge', async (request, reply) => {
    const session = sessionOf(request);
    const id = textField(request.query, 'alarm');
    const { standing } = await readAlarms(store, readWarnings);
    const alarm = standing.find((found) => found.id === id);
    return sendPage(reply, alarm === undefined ? ended : toPage(alarm, session));
  });

  app.post(
    '/alarms/acknowledge',
    audited(acknowledge.action, ({ body }) => `alarm ${textField(body, 'alarm')}`),
    async (request, reply) => {
      const session = sessionOf(request);
      const id = textField(request.body, 'alarm');
      const note = textField(request.body, 'note').trim();
      if (note === '' || note.length > maxNoteLength) {
        const alarm = await findAlarm(store, readWarnings, id);
        const fault = `Write a note of 1 to ${maxNoteLength} characters.`;
        return sendPage(reply.code(400), toPage(alarm, session, fault));
      }
      await acknowledge.run(parts, { id, note }, session.operator.name);
      return reply.redirect(pages.Overview, 303);
    },
  );
}

const ended = {
  title: 'Acknowledge an alarm',
  entry: 'Overview',
  content: html`<section class="card">
    <p>This alarm does not stand any more.</p>
    <p class="buttons"><a class="button" href="${pages.Overview}">To the overview</a></p>
  </section>`,
} as const;

const toPage = (alarm: StandingAlarm, session: ConsoleSession, fault?: string) =>
  ({
    title: 'Acknowledge an alarm',
    entry: 'Overview',
    isForChange: true,
    content: html`<section class="card">
      <h2>${alarm.what}</h2>
      ${describeStanding(alarm)} ${fault !== undefined && notice('bad', fault)} ${renderForm(alarm, session)}
    </section>`,
  }) as const;

const renderForm = ({ id }: StandingAlarm, session: ConsoleSession): Html =>
  html`<p>
      It stays on the overview with your name and note, and counts no longer. That ends when the condition
      ends, concerns twice as many, or begins again.
    </p>
    <form method="post" action="/console/alarms/acknowledge" class="form">
      ${csrfField(session)} <input type="hidden" name="alarm" value="${id}" />
      <label>
        Note for other operators
        <input name="note" required maxlength="${String(maxNoteLength)}" autocomplete="off" />
      </label>
      <div class="buttons">
        <button class="primary">Acknowledge</button> <a class="button" href="${pages.Overview}">Back</a>
      </div>
    </form>`;
