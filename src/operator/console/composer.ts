// The composer as HTML: fields on the left, the notification as it will look on the right.
import { html, type Html } from '../../http/description/html.ts';
import { maxPlaintextBytes } from '../../protocol/message-encryption.ts';
import {
  memberDescriptions,
  type FieldDescription,
  type MemberDescription,
} from '../../protocol/message/members.ts';
import { deliveryOptions } from '../../store/delivery-options.ts';
import { card, select } from './components.ts';
import type { Fields } from './forms.ts';
import { actionCount } from './message-form.ts';
import { csrfField } from './csrf.ts';
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
      fault &&
      html`<div class="notice bad" role="alert">
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

/** Members that most messages do without; open where one of the fields is filled in. */
const folded = (heading: string, fields: Fields, names: readonly string[], content: Html): Html =>
  html`<details class="card" ${names.some((name) => fields[name]) && html`open`}>
    <summary>${heading}</summary>
    <div class="form">${content}</div>
  </details>`;

const hintText = (hint: string): Html | false => hint !== '' && html`<small>${hint}</small>`;

const textInput = (fields: Fields, name: string, label: string, hint = '', type = 'text'): Html =>
  html`<label>
    ${label} <input type="${type}" name="${name}" value="${fields[name] ?? ''}" /> ${hintText(hint)}
  </label>`;

const textArea = (fields: Fields, name: string, label: string, hint: string, attributes: Html): Html =>
  html`<label>
    ${label} <textarea name="${name}" ${attributes}>${fields[name] ?? ''}</textarea> ${hintText(hint)}
  </label>`;

const checkbox = (fields: Fields, name: string, label: string, hint = ''): Html =>
  html`<label class="check">
    <input type="checkbox" name="${name}" value="yes" ${fields[name] === 'yes' && html`checked`} />
    ${label} ${hintText(hint)}
  </label>`;

const choice = (
  fields: Fields,
  name: string,
  label: string,
  options: readonly (readonly [value: string, text: string])[],
): Html => html`<label>${label} ${select(name, options, fields[name])}</label>`;

type Input = Pick<MemberDescription, 'schema'> & {
  readonly field: Omit<FieldDescription, 'group'>;
};

const memberFields = (group: FieldDescription['group'], fields: Fields): Html =>
  renderInputs(membersOf(group), fields);

/** Those that go side by side, then check boxes and large texts. */
function renderInputs(inputs: readonly (readonly [name: string, input: Input])[], fields: Fields): Html {
  const { short = [], wide = [] } = Object.groupBy(inputs, ([, input]) => (isWide(input) ? 'wide' : 'short'));
  const render = (several: typeof inputs) =>
    several.map(([name, input]) => renderMember(name, input, fields));
  return html`<div class="pair">${render(short)}</div>
    ${render(wide)}`;
}

const isWide = ({ schema, field }: Input): boolean =>
  schema.type === undefined || (schema.type === 'boolean' && field.choices === undefined);

const membersOf = (group: FieldDescription['group']) =>
  Object.entries(memberDescriptions).filter(([, { field }]) => field.group === group);

function renderMember(name: string, { schema, field }: Input, fields: Fields): Html {
  const { label, hint = '', choices } = field;
  if (name === 'tag') return renderTag(fields);
  if (name === 'message') return textArea(fields, name, label, hint, html`rows="3"`);
  if (choices !== undefined) return choice(fields, name, label, Object.entries(choices));
  if (schema.type === 'boolean') return checkbox(fields, name, label, hint);
  if (schema.type === undefined) return textArea(fields, name, label, hint, html`rows="2" class="code"`);
  return textInput(fields, name, label, hint, schema.format === 'timestamp' ? 'datetime-local' : 'text');
}

const renderTag = (fields: Fields): Html =>
  html`${choice(fields, 'replace', 'Replaces', [
    ['', 'the notification before it'],
    ['tag', 'one with the same tag'],
    ['none', 'none'],
  ])}
  ${textInput(fields, 'tag', 'Tag')}`;

const renderTexts = (fields: Fields): Html =>
  card('Message', html`${membersOf('texts').map(([name, member]) => renderMember(name, member, fields))}`);

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
          ${textInput(fields, 'tagsAll', 'All of these tags', 'Separated by commas.')}
        </div>
        <div data-audience="tags">${textInput(fields, 'tagsAny', 'One of these tags')}</div>
        <div data-audience="tags">${textInput(fields, 'tagsNone', 'None of these tags')}</div>
        <div data-audience="ids">${textInput(fields, 'ids', 'Ids', 'Separated by commas.')}</div>
      </div>`,
  );

const renderLinks = (fields: Fields): Html =>
  folded(
    'Pictures',
    fields,
    membersOf('pictures').map(([name]) => name),
    memberFields('pictures', fields),
  );

const renderActions = (fields: Fields): Html =>
  folded(
    'Buttons',
    fields,
    ['actionTitle0', 'actionTitle1', 'actionTitle2'],
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
    fields,
    ['replace', ...membersOf('behaviour').map(([name]) => name)],
    memberFields('behaviour', fields),
  );

const startInput: Input = {
  schema: { type: 'integer', format: 'timestamp' },
  field: { label: 'Start (UTC)', hint: 'Empty: now.' },
};

const renderDelivery = (fields: Fields): Html =>
  folded(
    'Delivery',
    fields,
    ['startAt', ...Object.keys(deliveryOptions)],
    renderInputs(Object.entries({ startAt: startInput, ...deliveryOptions }), fields),
  );
