// Channels: topics that readers switch on and off.
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { maxTitleCharacters, type Channel } from '../../../audience/channels.ts';
import { html, type Html } from '../../../http/description/html.ts';
import { findChannel, updateChannel, removeChannel } from '../../../operations/channels.ts';
import type { OperatorContext } from '../../context.ts';
import { onOff, prose, table, untrusted, urlWith, wide } from '../components.ts';
import { type ConsoleSession, csrfField, sessionOf } from '../sessions.ts';
import { changes, pages, type Question, sendDone, sendPage, sendQuestion } from '../page.ts';
import { toFaults } from '../draft.ts';
import { checkbox, textArea, textInput, type FormState } from '../form-fields.ts';
import { audited, fieldFault, textField, textFields, type Fields } from '../forms.ts';

const editUrl = `${pages.Channels}/edit`;

export function addChannelPages(app: FastifyInstance, parts: OperatorContext): void {
  const { channels } = parts.store;
  const find = (name: string) => findChannel(channels, name);

  app.get('/channels', async (request, reply) => {
    const session = sessionOf(request);
    return sendPage(reply, {
      title: 'Channels',
      actions: changes(session, html`<a class="button primary" href="${editUrl}">Add a channel</a>`),
      lead: 'What readers switch on and off; a broadcast to one reaches who has it on.',
      content: table(
        'Channels',
        (await channels.list()).map((channel) => renderRow(channel, session)),
        'No channels yet.',
      ),
    });
  });

  app.get('/channels/edit', async (request, reply) => {
    const known = await find(textField(request.query, 'name'));
    return sendForm(reply, sessionOf(request), known === undefined ? { isOn: 'yes' } : toFields(known));
  });

  app.post(
    '/channels/edit',
    audited(updateChannel.action, ({ body }) => `channel ${textField(body, 'name').trim()}`),
    async (request, reply) => {
      const { operator } = sessionOf(request);
      const given = textFields(request.body);
      const name = textField(given, 'name').trim();
      const known = await find(name);
      const isNew = textField(given, 'version') === '';
      // if the form is shown again, it is for the channel as it is now
      const fields = isNew ? given : { ...given, version: versionOf(known) };
      try {
        if (isNew && known !== undefined)
          throw fieldFault('name', 'There is a channel of this name already; change that one.');
        if (fields['version'] !== given['version']) throw fieldFault('title', describeChange(known));
        const channel = {
          name,
          title: textField(fields, 'title'),
          titles: {
            ...Object.fromEntries(Object.keys(known?.titles ?? {}).map((language) => [language, null])),
            ...readTitles(textField(fields, 'titles')),
          },
          isOnByDefault: fields['isOn'] === 'yes',
        };
        await updateChannel.run(parts, channel, operator.name);
      } catch (error) {
        const faults = toFaults(error, fields);
        if (Object.keys(faults).length === 0) throw error;
        return sendForm(reply.code(400), sessionOf(request), fields, faults);
      }
      return reply.redirect(pages.Channels, 303);
    },
  );

  app.get('/channels/remove', async (request, reply) => {
    const channel = await find(textField(request.query, 'name'));
    if (channel === undefined) return reply.redirect(pages.Channels, 303);
    return sendQuestion(reply, toQuestion(channel));
  });

  app.post(
    '/channels/remove',
    audited(removeChannel.action, ({ body }) => `channel ${textField(body, 'name')}`),
    async (request, reply) => {
      const name = textField(request.body, 'name');
      await removeChannel.run(parts, { name }, sessionOf(request).operator.name);
      return sendDone(reply, pages.Channels, 'channelRemoved');
    },
  );
}

function renderRow({ name, title, titles, isOnByDefault }: Channel, session: ConsoleSession) {
  const others = Object.entries(titles);
  return {
    Title: wide(
      session.mayChange
        ? html`<a href="${urlWith(editUrl, { name })}">${prose(title)}</a>`
        : html`${prose(title)}`,
    ),
    Name: html`<code>${untrusted(name)}</code>`,
    'In other languages': wide(
      others.length === 0
        ? html`<span class="quiet">none</span>`
        : html`${others.map(([language, text], index) => html`${index > 0 && ', '}<code>${language}</code> ${prose(text)}`)}`,
    ),
    'By default': onOff(isOnByDefault),
    Change: changes(
      session,
      html`<a class="button small-button" href="${urlWith(`${pages.Channels}/remove`, { name })}"
        >Remove…</a
      >`,
    ),
  };
}

const linesOf = (titles: Channel['titles']): readonly string[] =>
  Object.entries(titles).map(([language, text]) => `${language}: ${text}`);

const toFields = (channel: Channel): Fields => ({
  name: channel.name,
  title: channel.title,
  titles: linesOf(channel.titles).join('\n'),
  isOn: channel.isOnByDefault ? 'yes' : '',
  version: versionOf(channel),
});

/** Identifies the state of a channel, so that a form shows whether somebody has changed the channel since. */
const versionOf = (channel: Channel | undefined): string =>
  channel === undefined ? '' : createHash('sha256').update(JSON.stringify(channel)).digest('base64url');

function describeChange(channel: Channel | undefined): string {
  if (channel === undefined)
    return 'Somebody has removed this channel since you opened the form; save again to add it anew.';
  const { title, titles, isOnByDefault } = channel;
  const state = [title, ...linesOf(titles), `${isOnByDefault ? 'on' : 'off'} by default`].join('; ');
  return `Somebody has changed this channel since you opened the form. It is now: ${state}. Save again to replace that.`;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE */
function readTitles(text: string): Channel['titles'] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [, language, title] = /^\s*([\w-]+)\s*:(.*)$/.exec(line) ?? [];
      if (language !== undefined && title !== undefined) return [language, title];
      throw fieldFault('titles', 'Write one line for each language, such as de: Nachrichten.');
    }),
  );
}

/** @param faults the errors to show, by field name */
function sendForm(reply: FastifyReply, session: ConsoleSession, fields: Fields, faults: Fields = {}) {
  const isKnown = textField(fields, 'version') !== '';
  return sendPage(reply, {
    title: isKnown ? 'Change a channel' : 'Add a channel',
    entry: 'Channels',
    lead: isKnown ? html`<code>${untrusted(fields['name'] ?? '')}</code>` : undefined,
    isForChange: true,
    content: renderForm({ fields, notes: {}, faults }, isKnown, session),
  });
}

function renderForm(form: FormState, isKnown: boolean, session: ConsoleSession): Html {
  const needed = html`required autocomplete="off"`;
  const hint = 'Letters, digits and . _ : - such as news. It cannot be changed later.';
  return html`<form method="post" action="${editUrl}" class="card form">
    ${csrfField(session)}
    ${
      isKnown
        ? html`<input type="hidden" name="version" value="${form.fields['version'] ?? ''}" />
            <input type="hidden" name="name" value="${form.fields['name'] ?? ''}" />`
        : textInput(form, 'name', { label: 'Name', hint, attributes: needed })
    }
    ${textInput(form, 'title', {
      label: 'Title',
      hint: `For readers whose language has no title of its own; at most ${maxTitleCharacters} characters.`,
      attributes: needed,
    })}
    ${textArea(form, 'titles', {
      label: 'Titles in other languages',
      hint: 'One line for each language (BCP 47), such as de: Nachrichten.',
      attributes: html`rows="4"`,
    })}
    ${checkbox(form, 'isOn', 'On by default', 'For readers who have chosen nothing.')}
    <div class="buttons">
      <button class="primary">Save</button> <a class="button" href="${pages.Channels}">Back</a>
    </div>
  </form>`;
}

const toQuestion = ({ name, title }: Channel): Question => ({
  title: 'Remove a channel?',
  entry: 'Channels',
  consequence: html`Readers no longer see <strong>${prose(title)}</strong> (<code>${untrusted(name)}</code>),
    and no new broadcast can be sent to it. Their choices stay stored, and hold again if a channel of this
    name is made anew.`,
  button: 'Remove the channel',
  fields: { name },
  backUrl: pages.Channels,
});
