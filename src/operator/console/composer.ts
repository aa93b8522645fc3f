// The composer as HTML: fields on the left, the notification as it will look on the right.
import { html, type Html } from '../../http/description/html.ts';
import { maxPlaintextBytes } from '../../protocol/encryption.ts';
import { defaultTtlSeconds, urgencies } from '../../protocol/request.ts';
import { card, nothing, select } from './components.ts';
import { actionCount, type Fields } from './message-form.ts';
import { csrfField } from './page.ts';
import { renderPreview } from './preview.ts';
import type { ConsoleSession } from './sessions.ts';

export interface Composer {
  readonly fields: Fields;
  /** What was wrong with them. */
  readonly fault?: string | undefined;
  /** To subscribe this browser with. */
  readonly vapidPublicKey: string | undefined;
}

export function renderComposer({ fields, fault, vapidPublicKey }: Composer, session: ConsoleSession): Html {
  return html`${
      fault === undefined
        ? nothing
        : html`<div class="notice bad" role="alert">
            <h2>This cannot be sent yet</h2>
            <p>${fault}</p>
          </div>`
    }
    <form method="post" action="/console/send" class="composer" data-composer>
      ${csrfField(session)}
      <input type="hidden" name="idempotencyKey" value="${fields['idempotencyKey'] ?? ''}" />
      <div class="form">
        ${renderTexts(fields)} ${renderAudience(fields)} ${renderLinks(fields)} ${renderActions(fields)}
        ${renderBehaviour(fields)} ${renderDelivery(fields)}
      </div>
      <aside>
        <section class="card" aria-labelledby="preview-heading">
          <h2 id="preview-heading">Preview</h2>
          ${renderPreview(fields)}
          <p class="quiet small">
            Browsers differ in what they show. All of it has at most ${maxPlaintextBytes.toLocaleString('en')}
            bytes.
          </p>
          <div class="buttons">
            <button class="primary">Review and send…</button>
            <button type="button" hidden data-send-to-me data-vapid-key="${vapidPublicKey ?? ''}">
              Send to this browser
            </button>
          </div>
          <p role="status" data-answer class="small"></p>
          <noscript><p class="quiet small">Sending to this browser first needs JavaScript.</p></noscript>
        </section>
      </aside>
    </form>`;
}

/** Members that most messages do without. */
const folded = (heading: string, isOpen: boolean, content: Html): Html => {
  const inside = html`<summary>${heading}</summary>
    <div class="form">${content}</div>`;
  return isOpen
    ? html`<details class="card" open>${inside}</details>`
    : html`<details class="card">${inside}</details>`;
};

const isFilled = (fields: Fields, names: readonly string[]): boolean =>
  names.some((name) => Boolean(fields[name]));

function textInput(
  fields: Fields,
  name: string,
  label: string,
  { hint = '', type = 'text' }: { readonly hint?: string; readonly type?: string } = {},
): Html {
  return html`<label>
    ${label}
    <input type="${type}" name="${name}" value="${fields[name] ?? ''}" />
    ${hint === '' ? nothing : html`<small>${hint}</small>`}
  </label>`;
}

const checkbox = (fields: Fields, name: string, label: string, hint = ''): Html => {
  const words = html`${label} ${hint === '' ? nothing : html`<small>${hint}</small>`}`;
  return fields[name] === 'yes'
    ? html`<label class="check"><input type="checkbox" name="${name}" value="yes" checked /> ${words}</label>`
    : html`<label class="check"><input type="checkbox" name="${name}" value="yes" /> ${words}</label>`;
};

const choice = (
  fields: Fields,
  name: string,
  label: string,
  options: readonly (readonly [value: string, text: string])[],
): Html => html`<label>${label} ${select(name, options, fields[name] ?? '')}</label>`;

const renderTexts = (fields: Fields): Html =>
  card(
    'Message',
    html`${textInput(fields, 'title', 'Title')}
      <label>Text <textarea name="message" rows="3">${fields['message'] ?? ''}</textarea></label>
      ${textInput(fields, 'url', 'Opens', { hint: 'What a click opens: absolute, or relative to your page.' })}`,
  );

const renderAudience = (fields: Fields): Html =>
  card(
    'To whom',
    html`${choice(fields, 'audience', 'Audience', [
        ['all', 'every subscription'],
        ['user', 'all devices of one user'],
        ['tags', 'subscriptions with tags'],
        ['ids', 'subscriptions by id'],
      ])}
      <div class="pair">
        <div data-audience="user">${textInput(fields, 'user', 'User')}</div>
        <div data-audience="tags">
          ${textInput(fields, 'tagsAll', 'All of these tags', { hint: 'Separated by commas.' })}
        </div>
        <div data-audience="tags">${textInput(fields, 'tagsAny', 'One of these tags')}</div>
        <div data-audience="tags">${textInput(fields, 'tagsNone', 'None of these tags')}</div>
        <div data-audience="ids">${textInput(fields, 'ids', 'Ids', { hint: 'Separated by commas.' })}</div>
      </div>`,
  );

const renderLinks = (fields: Fields): Html =>
  folded(
    'Pictures',
    isFilled(fields, ['icon', 'image', 'badge']),
    html`<div class="pair">
      ${textInput(fields, 'icon', 'Icon', { hint: 'URL of an image beside the text.' })}
      ${textInput(fields, 'image', 'Image', { hint: 'URL of a large image.' })}
      ${textInput(fields, 'badge', 'Badge', { hint: 'URL of a small image for a status bar.' })}
    </div>`,
  );

const renderActions = (fields: Fields): Html =>
  folded(
    'Buttons',
    isFilled(fields, ['actionTitle0', 'actionTitle1', 'actionTitle2']),
    html`${Array.from(
      { length: actionCount },
      (_, index) =>
        html`<div class="pair" role="group" aria-label="Button ${index + 1}">
          ${textInput(fields, `actionTitle${index}`, `Button ${index + 1}`)}
          ${textInput(fields, `actionUrl${index}`, 'Opens')}
          ${textInput(fields, `actionIcon${index}`, 'Icon')}
          ${textInput(fields, `actionName${index}`, 'Name')}
        </div>`,
    )}`,
  );

const renderBehaviour = (fields: Fields): Html =>
  folded(
    'How it is shown',
    isFilled(fields, [
      'replace',
      'tag',
      'renotify',
      'silent',
      'timestamp',
      'lang',
      'dir',
      'appBadge',
      'data',
      'declarative',
    ]),
    html`<div class="pair">
        ${choice(fields, 'replace', 'Replaces', [
          ['', 'the notification before it'],
          ['tag', 'one with the same tag'],
          ['none', 'none'],
        ])}
        ${textInput(fields, 'tag', 'Tag')}
        ${choice(fields, 'requireInteraction', 'Stays', [
          ['', 'until it is dismissed'],
          ['no', 'as long as the browser likes'],
        ])}
        ${textInput(fields, 'timestamp', 'When it happened (UTC)', { type: 'datetime-local' })}
        ${textInput(fields, 'lang', 'Language', { hint: 'Such as de or pt-BR.' })}
        ${choice(fields, 'dir', 'Direction of the text', [
          ['', 'as the browser finds'],
          ['auto', 'auto'],
          ['ltr', 'left to right'],
          ['rtl', 'right to left'],
        ])}
        ${textInput(fields, 'appBadge', 'Number on the app’s icon', { hint: '0 removes it.' })}
      </div>
      ${checkbox(fields, 'renotify', 'Alert again where it replaces another one')}
      ${checkbox(fields, 'silent', 'Without sound and vibration')}
      ${checkbox(
        fields,
        'declarative',
        'In the declarative form too',
        'Some browsers show it without the service worker. Needs a title, and absolute URLs.',
      )}
      ${checkbox(fields, 'mutable', 'The service worker may change the declarative form')}
      <label>
        Data
        <textarea name="data" rows="2" class="code">${fields['data'] ?? ''}</textarea>
        <small>Any JSON value, for your page and its service worker.</small>
      </label>`,
  );

const renderDelivery = (fields: Fields): Html =>
  folded(
    'Delivery',
    isFilled(fields, ['ttlSeconds', 'urgency', 'topic', 'startAt', 'perPerson', 'receipts']),
    html`<div class="pair">
        ${textInput(fields, 'startAt', 'Start (UTC)', { type: 'datetime-local', hint: 'Empty: now.' })}
        ${textInput(fields, 'ttlSeconds', 'TTL in seconds', {
          hint: `How long push services keep it for a browser that is away. Empty: ${defaultTtlSeconds}, four weeks.`,
        })}
        ${choice(fields, 'urgency', 'Urgency', [
          ['', 'normal'],
          ...urgencies
            .filter((urgency) => urgency !== 'normal')
            .map((urgency) => [urgency, urgency] as const),
        ])}
        ${textInput(fields, 'topic', 'Topic', { hint: 'A later message with the same one replaces an undelivered one.' })}
        ${textInput(fields, 'perPerson', 'At most per person', { hint: 'Such as 3/day; also per hour or week. Counts broadcasts with a cap.' })}
      </div>
      ${checkbox(fields, 'receipts', 'Ask browsers to report what was shown and clicked')}`,
  );
