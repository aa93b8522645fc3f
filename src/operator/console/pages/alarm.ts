// Acknowledging an alarm: what it says, and a note for other operators.
import type { FastifyInstance } from 'fastify';
import { acknowledgeAlarm, findAlarm, readAlarms } from '../../../delivery/alarms/read-alarms.ts';
import { maxNoteLength, type StandingAlarm } from '../../../delivery/alarms/standing-alarm.ts';
import { html, type Html } from '../../../http/description/html.ts';
import type { OperatorContext } from '../../context.ts';
import { describeStanding } from '../alarms.ts';
import { notice } from '../components.ts';
import { csrfField } from '../csrf.ts';
import { audited, textField } from '../forms.ts';
import { pages, sendPage } from '../page.ts';
import { sessionOf } from '../require-session.ts';
import type { ConsoleSession } from '../sessions.ts';

export function addAlarmPage(app: FastifyInstance, { store, readWarnings }: OperatorContext): void {
  app.get('/alarms/acknowledge', async (request, reply) => {
    const session = sessionOf(request);
    const id = textField(request.query, 'alarm');
    const { standing } = await readAlarms(store, readWarnings);
    const alarm = standing.find((found) => found.id === id);
    return sendPage(reply, alarm === undefined ? ended : toPage(alarm, session));
  });

  app.post(
    '/alarms/acknowledge',
    audited('alarm.acknowledge', ({ body }) => `alarm ${textField(body, 'alarm')}`),
    async (request, reply) => {
      const session = sessionOf(request);
      const id = textField(request.body, 'alarm');
      const note = textField(request.body, 'note').trim();
      if (note === '' || note.length > maxNoteLength) {
        const alarm = await findAlarm(store, readWarnings, id);
        const fault = `Write a note of 1 to ${maxNoteLength} characters.`;
        return sendPage(reply.code(400), toPage(alarm, session, fault));
      }
      await acknowledgeAlarm(store, readWarnings, { id, note, operator: session.operator.name });
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
        <input name="note" required maxlength="${maxNoteLength}" autocomplete="off" />
      </label>
      <div class="buttons">
        <button class="primary">Acknowledge</button> <a class="button" href="${pages.Overview}">Back</a>
      </div>
    </form>`;
