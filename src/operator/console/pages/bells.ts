// Bells: a list, and a page for each with its last requests. The command line adds them, since an address is shown once.
import type { FastifyInstance } from 'fastify';
import { formatAskedAudience } from '../../../delivery/broadcast/format-broadcast.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { bellTexts, removeBell, showBell, type ShownRequest } from '../../../operations/bells.ts';
import type { Bell } from '../../../store/bells.ts';
import type { OperatorContext } from '../../context.ts';
import { card, exactTime, facts, prose, table, time, untrusted, urlWith } from '../components.ts';
import { audited, textField } from '../forms.ts';
import { changes, doneUrl, pages, sendPage, sendQuestion } from '../page.ts';
import { sessionOf } from '../sessions.ts';

/** Its link is on the page of broadcasts, which bells make. */
export const bellsUrl = '/console/bells';

export function addBellPages(app: FastifyInstance, parts: OperatorContext): void {
  const { store } = parts;

  app.get('/bells', async (_request, reply) =>
    sendPage(reply, {
      title: 'Bells',
      entry: 'Broadcasts',
      lead: html`<p class="quiet">
        Addresses that ring an audience with what is posted there; <code>deskbell bells add</code> makes one.
      </p>`,
      content: table('Bells', columns, (await store.bells.list()).map(renderRow), 'No bells yet.'),
    }),
  );

  app.get('/bells/show', async (request, reply) => {
    const { requests, ...bell } = await showBell(store, textField(request.query, 'name'));
    const { name } = bell;
    const settings = bellTexts.flatMap((setting) =>
      bell[setting] === undefined ? [] : [[setting, untrusted(bell[setting])] as const],
    );
    return sendPage(reply, {
      title: `Bell ${name}`,
      entry: 'Broadcasts',
      actions: changes(
        sessionOf(request),
        html`<a class="button" href="${urlWith(`${bellsUrl}/remove`, { name })}">Remove…</a>`,
      ),
      content: html`${card('What it does', facts([['rings', renderAudience(bell)], ...settings]))}
      ${card(
        'Last requests',
        table('Last requests', requestColumns, requests.map(renderRequest), 'Nothing was posted there yet.'),
      )}`,
    });
  });

  app.get('/bells/remove', async (request, reply) => {
    const { name } = await store.bells.get(textField(request.query, 'name'));
    return sendQuestion(reply, {
      title: 'Remove a bell?',
      entry: 'Broadcasts',
      lead: html`<p class="quiet">${untrusted(name)}</p>`,
      consequence: html`Its address rings nothing from then on. Broadcasts that it has made stay.`,
      button: 'Remove the bell',
      fields: { name },
      backUrl: urlWith(`${bellsUrl}/show`, { name }),
    });
  });

  app.post(
    '/bells/remove',
    audited(removeBell.action, ({ body }) => `bell ${textField(body, 'name')}`),
    async (request, reply) => {
      const session = sessionOf(request);
      await removeBell.run(parts, { name: textField(request.body, 'name') }, session.operator.name);
      return reply.redirect(doneUrl(session, bellsUrl, 'bellRemoved', 1), 303);
    },
  );
}

const columns = { Name: 'short', Rings: 'words', 'Last request': 'short', Created: 'short' } as const;

const renderRow = (bell: Bell) => [
  html`<a href="${urlWith(`${bellsUrl}/show`, { name: bell.name })}">${untrusted(bell.name)}</a>`,
  renderAudience(bell),
  bell.lastRequestAtMs === undefined ? html`<span class="quiet">none yet</span>` : time(bell.lastRequestAtMs),
  time(bell.createdAtMs),
];

const renderAudience = ({ audience, channel }: Bell): Html =>
  html`${untrusted(formatAskedAudience(audience))}
  ${channel !== undefined && html`with the channel ${untrusted(channel)} on`}`;

const requestColumns = { When: 'short', From: 'short', Outcome: 'words', Words: 'words' } as const;

const renderRequest = ({
  atMs,
  tool,
  outcome,
  broadcastId,
  title,
  message,
  leftOut,
  shape,
}: ShownRequest) => [
  exactTime(atMs),
  untrusted(tool),
  html`${broadcastId === undefined ? outcome : html`<a href="${pages.Broadcasts}/${broadcastId}">${outcome}</a>`}
  ${leftOut !== undefined && html`<div class="quiet small">left out: ${untrusted(leftOut)}</div>`}`,
  html`${title !== undefined && html`<strong>${prose(title)}</strong> ${prose(message ?? '')}`}
  ${shape !== undefined && html`<div class="small">not understood: <code>${untrusted(shape)}</code></div>`}`,
];
