// Bells: a list, a form that adds a bell, and a page for each bell with its last requests. Addresses are shown once.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { DeskbellError } from '../../../errors/deskbell-error.ts';
import { html } from '../../../http/description/html.ts';
import { bellsPath } from '../../../http/unknown-paths.ts';
import {
  addBell,
  bellSettingNames,
  bellSettings,
  describeRung,
  hasAudience,
  type NewBell,
  type NewSecret,
  remarksOf,
  removeBell,
  rotateBell,
  showBell,
  type ShownRequest,
} from '../../../operations/bells.ts';
import { urgencies } from '../../../protocol/request.ts';
import type { Bell } from '../../../store/bells.ts';
import type { OperatorContext } from '../../context.ts';
import { checkInput } from '../../validator.ts';
import {
  card,
  exactTime,
  facts,
  notice,
  prose,
  table,
  time,
  untrusted,
  urlWith,
  wide,
} from '../components.ts';
import { toFaults } from '../draft.ts';
import { figure } from '../figures.ts';
import { choice, textInput } from '../form-fields.ts';
import { audited, type Fields, optionalField, textField, textFields } from '../forms.ts';
import { toAudience, toTags } from '../message-form.ts';
import { changes, pages, sendDone, sendPage, sendQuestion, urlOf } from '../page.ts';
import { csrfField, sessionOf } from '../sessions.ts';

const bellsUrl = pages.Bells;
const entry = 'Bells';

const target = ({ body }: { readonly body: unknown }) => `bell ${textField(body, 'name')}`;

export function addBellPages(app: FastifyInstance, parts: OperatorContext): void {
  const { store, bellsUrl: address, isSecure } = parts;

  /** Shows the address only in the response to the form, so that loading the page again does not show it. */
  const sendAddress = async (reply: FastifyReply, { name, secret }: NewSecret) => {
    const base = address ?? `http${isSecure ? 's' : ''}://${reply.request.headers.host}${bellsPath}`;
    const url = `${base.replace(/\/+$/, '')}/${secret}`;
    const isHeard = await hasAudience(store, await store.bells.get(name));
    return sendPage(reply, {
      title: `Bell ${name}`,
      entry,
      content: notice(
        'good',
        'The address, shown this once',
        html`<p><code>${url}</code></p>
          <p>To try it: <code>curl -d 'It works' ${url}</code></p>
          ${!isHeard && html`<p>Nobody gets it yet: no subscription is in its audience.</p>`}
          <p><a href="${urlWith(`${bellsUrl}/show`, { name })}">To the bell</a></p>`,
      ),
    });
  };

  app.get('/bells', async (request, reply) =>
    sendPage(reply, {
      title: 'Bells',
      entry,
      actions: changes(
        sessionOf(request),
        html`<a class="button primary" href="${bellsUrl}/add">Add a bell</a>`,
      ),
      lead: 'Addresses that ring an audience with what is posted there.',
      content: table('Bells', (await store.bells.list()).map(renderRow), 'No bells yet.'),
    }),
  );

  app.get('/bells/add', async (_request, reply) => sendForm(reply, { audience: 'user', urgency: 'normal' }));

  app.post('/bells/add', audited(addBell.action, target), async (request, reply) => {
    const fields = textFields(request.body);
    try {
      const audience = toAudience(fields);
      const bell = {
        name: fields['name'],
        // this form has only the field for `all`, so the other lists would be empty
        audience: audience === 'all' || 'user' in audience ? audience : { tags: { all: toTags(fields).all } },
        ...Object.fromEntries(bellSettingNames.map((name) => [name, optionalField(fields, name)])),
      };
      checkInput(addBell, bell);
      return sendAddress(reply, await addBell.run(parts, bell as NewBell, sessionOf(request).operator.name));
    } catch (error) {
      return sendForm(reply.code(400), fields, error);
    }
  });

  app.get('/bells/show', async (request, reply) => {
    const { requests, ...bell } = await showBell(store, textField(request.query, 'name'));
    const { name } = bell;
    const settings = bellSettingNames.flatMap((setting) =>
      bell[setting] ? [[bellSettings[setting].label, untrusted(bell[setting])] as const] : [],
    );
    return sendPage(reply, {
      title: `Bell ${name}`,
      entry,
      actions: changes(
        sessionOf(request),
        html`<a class="button" href="${urlWith(`${bellsUrl}/rotate`, { name })}">New address…</a>
          <a class="button" href="${urlWith(`${bellsUrl}/remove`, { name })}">Remove…</a>`,
      ),
      content: html`${card('What it does', facts([['Rings', untrusted(describeRung(bell))], ...settings]))}
      ${card(
        'Last requests',
        table('Last requests', requests.map(renderRequest), 'Nothing was posted there yet.'),
      )}`,
    });
  });

  for (const [path, question] of Object.entries(questions)) {
    app.get(path, async (request, reply) => {
      const { name } = await store.bells.get(textField(request.query, 'name'));
      return sendQuestion(reply, {
        ...question,
        entry,
        lead: untrusted(name),
        fields: { name },
        backUrl: urlWith(`${bellsUrl}/show`, { name }),
      });
    });
  }

  app.post('/bells/rotate', audited(rotateBell.action, target), async (request, reply) => {
    const name = textField(request.body, 'name');
    return sendAddress(reply, await rotateBell.run(parts, { name }, sessionOf(request).operator.name));
  });

  app.post('/bells/remove', audited(removeBell.action, target), async (request, reply) => {
    const name = textField(request.body, 'name');
    await removeBell.run(parts, { name }, sessionOf(request).operator.name);
    return sendDone(reply, bellsUrl, 'bellRemoved');
  });
}

const questions = {
  '/bells/rotate': {
    title: 'Give a bell another address?',
    consequence: html`The former one rings nothing from then on. The new one is shown once.`,
    button: 'Make a new address',
  },
  '/bells/remove': {
    title: 'Remove a bell?',
    consequence: html`Its address rings nothing from then on. Broadcasts that it has made stay.`,
    button: 'Remove the bell',
  },
};

/** @throws an error that does not belong to a field */
function sendForm(reply: FastifyReply, fields: Fields, error?: unknown) {
  const faults =
    error instanceof DeskbellError && error.code === 'ERR_CHANNEL_NOT_FOUND'
      ? { channel: error.message }
      : error === undefined
        ? {}
        : toFaults(error, fields);
  if (error !== undefined && Object.keys(faults).length === 0) throw error;
  const form = { fields, notes: {}, faults };
  return sendPage(reply, {
    title: 'Add a bell',
    entry,
    isForChange: true,
    content: html`<form method="post" action="${bellsUrl}/add" class="card form">
      ${csrfField(sessionOf(reply.request))}
      ${textInput(form, 'name', {
        label: 'Name',
        hint: 'Letters, digits and . _ : - such as backups.',
        attributes: html`required autocomplete="off"`,
      })}
      ${choice(form, 'audience', 'Rings', [
        ['user', 'all devices of one user'],
        ['tags', 'subscriptions with tags'],
        ['all', 'every subscription'],
      ])}
      ${textInput(form, 'user', { label: 'User' })}
      ${textInput(form, 'tagsAll', { label: 'All of these tags', hint: 'Separated by commas.' })}
      ${bellSettingNames.map((name) => {
        const { label, description: hint } = bellSettings[name];
        return name === 'urgency'
          ? choice(
              form,
              name,
              label,
              urgencies.map((urgency) => [urgency, urgency]),
            )
          : textInput(form, name, { label, hint });
      })}
      <div class="buttons">
        <button class="primary">Add the bell</button> <a class="button" href="${bellsUrl}">Back</a>
      </div>
    </form>`,
  });
}

const renderRow = (bell: Bell) => ({
  Name: html`<a href="${urlWith(`${bellsUrl}/show`, { name: bell.name })}">${untrusted(bell.name)}</a>`,
  Rings: wide(untrusted(describeRung(bell))),
  'Last request':
    bell.lastRequestAtMs === undefined
      ? html`<span class="quiet">none yet</span>`
      : figure('bell.lastRequestAt', bell.lastRequestAtMs, bell.name, time),
  Created: figure('bell.createdAt', bell.createdAtMs, bell.name, time),
});

const renderRequest = ({ atMs, tool, outcome, broadcastId, title, message, ...request }: ShownRequest) => ({
  When: figure('bell.requestAt', atMs, tool, exactTime),
  // the name of a tool is short and need not wrap
  From: tool,
  Outcome: wide(
    html`${broadcastId === undefined ? outcome : html`<a href="${urlOf('Broadcasts', broadcastId)}">${outcome}</a>`}
    ${remarksOf({ atMs, tool, outcome, ...request }).map(
      ([label, remark]) => html`<div class="quiet small">${label}: ${untrusted(remark)}</div>`,
    )}`,
  ),
  Words: wide(html`${title !== undefined && html`<strong>${prose(title)}</strong> ${prose(message ?? '')}`}`),
});
