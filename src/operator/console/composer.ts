// The composer as HTML: fields on the left, the summary and a preview of the notification on the right.
import { html, type Html } from '../../http/description/html.ts';
import {
  memberDescriptions,
  type FieldDescription,
  type MemberDescription,
} from '../../protocol/message/members.ts';
import type { TagCount } from '../../delivery/broadcast/estimate-audience.ts';
import { groupMeanings } from '../../delivery/broadcast/meanings.ts';
import { deliveryOptions, type OptionDescription } from '../../store/delivery-options.ts';
import {
  actionFieldNames,
  actionIndexes,
  checkbox,
  choice,
  type FormState,
  textArea,
  textInput,
} from './form-fields.ts';
import { card, facts } from './components.ts';
import { zoneField, zoneLabel } from './local-time-input.ts';
import type { Channel } from '../../audience/channels.ts';
import { describeLanguage, languagesOf, renderLanguages } from './languages.ts';
import { type ConsoleSession, csrfField } from './sessions.ts';
import { figure } from './figures.ts';
import { lookUp } from '../../errors/check-options.ts';

export interface Composer extends FormState {
  /** Shown above the form: errors, or a message about the last action. */
  readonly notice?: Html | undefined;
  /** The key to subscribe this browser with. */
  readonly vapidPublicKey: string | undefined;
  readonly tags: readonly TagCount[];
  /** Whether the counts of `tags` are estimates. */
  readonly isSample: boolean;
  readonly channels: readonly Channel[];
  readonly previews: Html;
}

export function renderComposer(form: Composer, session: ConsoleSession): Html {
  const { fields, notice, previews } = form;
  return html`${notice}
    <form method="post" action="/console/send" class="composer" data-composer>
      ${csrfField(session)}
      <!-- what the key Enter presses -->
      <button hidden tabindex="-1" aria-hidden="true"></button>
      <input type="hidden" name="idempotencyKey" value="${fields['idempotencyKey'] ?? ''}" />
      ${zoneField(fields)} ${renderSuggestions(form)}
      <div class="form">
        ${renderTexts(form)} ${renderAudience(form)} ${renderLinks(form)} ${renderActions(form)}
        ${renderReaders(form)} ${renderBehaviour(form)} ${renderTimes(form)} ${renderDelivery(form)}
      </div>
      <aside class="form">
        ${renderSummary(form)}
        ${card(
          'Preview',
          html`${renderReader(form)}
            <div data-previews>${previews}</div>`,
        )}
      </aside>
    </form>`;
}

const renderSummary = ({ notes, vapidPublicKey }: Composer): Html =>
  card(
    'Before it is sent',
    html`${facts([
        ['Recipients', html`<span data-note="recipients">${notes['recipients'] ?? ''}</span>`],
        ['Size', html`<span data-note="size">${notes['size'] ?? ''}</span>`],
      ])}
      <div class="buttons">
        <button class="primary">Review and send…</button>
        <button name="step" value="test">Send to the test group…</button>
        <button type="button" hidden data-send-to-me data-vapid-key="${vapidPublicKey ?? ''}">
          Send to this browser
        </button>
      </div>
      <p role="status" data-answer class="small"></p>
      <noscript>
        <p class="quiet small">
          Without JavaScript, recipients and size are those of the form as it was loaded, until the review.
          Times are in UTC, and the message cannot be sent to this browser first.
        </p>
      </noscript>`,
  );

/** Suggests tags. Each label has the tag and its count of subscriptions, because some browsers show only labels. */
const renderSuggestions = ({ tags, isSample }: Composer): Html =>
  html`<datalist id="tags">
    ${tags.map(({ tag, subscriptions }) => {
      const count = figure('tag.subscriptions', subscriptions, tag);
      return html`<option value="${tag}">${tag}: ${isSample && 'about '}${count}</option>`;
    })}
  </datalist>`;

/** A group of rarely used fields, which is open if one of them is filled in. */
const folded = (
  heading: string,
  { fields, faults }: FormState,
  names: readonly string[],
  content: Html,
): Html =>
  html`<details
    class="card"
    ${names.some((name) => lookUp(fields, name) || lookUp(faults, name)) && html`open`}
  >
    <summary>${heading}</summary>
    <div class="form">${content}</div>
  </details>`;

type Input = Pick<MemberDescription, 'schema'> & {
  readonly field: Omit<FieldDescription, 'group'>;
};

type Inputs = readonly (readonly [name: string, input: Input])[];

/** @param more names of fields that belong to one of the inputs */
const foldedInputs = (heading: string, inputs: Inputs, form: FormState, more: readonly string[] = []): Html =>
  folded(heading, form, [...inputs.map(([name]) => name), ...more], renderInputs(inputs, form));

/** Renders the short inputs first, side by side, followed by check boxes and large text fields. */
function renderInputs(inputs: Inputs, form: FormState): Html {
  const { short = [], wide = [] } = Object.groupBy(inputs, ([, input]) => (isWide(input) ? 'wide' : 'short'));
  const render = (several: Inputs) => several.map(([name, input]) => renderMember(name, input, form));
  return html`<div class="pair">${render(short)}</div>
    ${render(wide)}`;
}

const isJson = ({ schema }: Input): boolean => schema.type === undefined;

const isWide = (input: Input): boolean =>
  isJson(input) || (input.schema.type === 'boolean' && input.field.choices === undefined);

const membersOf = (group: FieldDescription['group']) =>
  Object.entries(memberDescriptions).filter(([, { field }]) => field.group === group);

function renderMember(name: string, input: Input, form: FormState): Html {
  const { schema, field } = input;
  const { label, hint, choices } = field;
  if (name === 'tag') return renderTag(form);
  if (name === 'message') return textArea(form, name, { label, attributes: html`rows="3"` });
  if (choices !== undefined) return choice(form, name, label, Object.entries(choices));
  if (schema.type === 'boolean') return checkbox(form, name, label, hint);
  if (isJson(input)) return textArea(form, name, { label, hint, attributes: html`rows="2" class="code"` });
  if (schema.format !== 'timestamp') return textInput(form, name, { label, hint });
  const labelWithZone = html`<span>${label} (${zoneLabel(form.fields)})</span>`;
  return textInput(form, name, { label: labelWithZone, hint }, 'datetime-local');
}

const renderTag = (form: FormState): Html =>
  html`${choice(form, 'replace', 'Replaces', [
    ['', 'the notification before it'],
    ['tag', 'one with the same tag'],
    ['none', 'none'],
  ])}
  ${textInput(form, 'tag', { label: 'Tag' })}`;

const renderTexts = (form: FormState): Html =>
  card('Message', html`${membersOf('texts').map(([name, member]) => renderMember(name, member, form))}`);

/** Without the script, browsers suggest only the first tag. */
const tagInput = (form: FormState, name: string, label: string, hint?: string, isOne = false): Html =>
  textInput(form, name, {
    label,
    hint,
    attributes: html`list="tags" autocomplete="off" data-tags="${isOne ? 'one' : 'several'}"`,
  });

const renderAudience = (form: Composer): Html =>
  card(
    'To whom',
    html`${choice(form, 'audience', 'Audience', [
        ['all', 'every subscription'],
        ['user', 'all devices of one user'],
        ['tags', 'subscriptions with tags'],
        ['ids', 'subscriptions by id'],
        ['outcome', 'those of an earlier broadcast'],
      ])}
      <div class="pair">
        <div data-audience="user">${textInput(form, 'user', { label: 'User' })}</div>
        <div data-audience="tags">
          ${tagInput(form, 'tagsAll', 'All of these tags', 'Separated by commas.')}
        </div>
        <div data-audience="tags">${tagInput(form, 'tagsAny', 'One of these tags')}</div>
        <div data-audience="tags">${tagInput(form, 'tagsNone', 'None of these tags')}</div>
        <div data-audience="ids">
          ${textInput(form, 'ids', { label: 'Ids', hint: 'Separated by commas.' })}
        </div>
        <div data-audience="outcome">
          ${textInput(form, 'broadcast', { label: 'Broadcast', hint: 'Its number.' })}
        </div>
        <div data-audience="outcome">
          ${choice(form, 'outcome', 'Of its recipients', Object.entries(groupMeanings))}
        </div>
      </div>
      ${renderChannel(form)}
      <div class="pair">
        ${tagInput(
          form,
          'testTag',
          'Test group',
          'A tag. “Send to the test group…” sends the message to the subscriptions that have it, before all others.',
          true,
        )}
      </div>`,
  );

const renderLinks = (form: FormState): Html => foldedInputs('Pictures', membersOf('pictures'), form);

const renderActions = (form: FormState): Html =>
  folded(
    'Buttons',
    form,
    actionFieldNames,
    html`${actionIndexes.map(
      (index) =>
        html`<div class="pair" role="group" aria-label="${`Button ${index + 1}`}">
          ${textInput(form, `actions.${index}.title`, { label: `Button ${index + 1}` })}
          ${textInput(form, `actions.${index}.url`, { label: 'Opens' })}
          ${textInput(form, `actions.${index}.icon`, { label: 'Icon' })}
          ${textInput(form, `actions.${index}.action`, { label: 'Name' })}
        </div>`,
    )}`,
  );

const renderReaders = (form: FormState): Html =>
  folded(
    'Languages and placeholders',
    form,
    ['languages', 'newLanguage', 'placeholders'],
    html`<div id="languages" class="form">
      ${membersOf('readers')
        .filter(([name]) => name !== 'texts')
        .map(([name, member]) => renderMember(name, member, form))}
      ${renderLanguages(form)}
    </div>`,
  );

/** Inputs that choose the reader for whom the preview is shown. */
function renderReader(form: Composer): Html | false {
  const languages = languagesOf(form.fields);
  return html`<div class="pair">
      ${choice(form, 'shownLanguage', 'Language', [
        ['', languages.length === 0 ? 'the message’s own' : 'that of the person'],
        ...languages.map((language) => [language, describeLanguage(language)] as const),
      ])}
      ${textInput(form, 'shownUser', { label: 'Person' })}
    </div>
    <p class="quiet small" data-note="shown">${form.notes['shown'] ?? ''}</p>
    <noscript><button name="step" value="edit" formaction="/console/send">Show</button></noscript>`;
}

const renderBehaviour = (form: FormState): Html =>
  foldedInputs('How it is shown', membersOf('behaviour'), form, ['replace']);

const startInput: Input = {
  schema: { type: 'integer', format: 'timestamp' },
  field: { label: 'Start', hint: 'Empty: now.' },
};

/** A field for an existing channel, or for the channel of the broadcast that is being copied. */
function renderChannel(form: Composer): Html | false {
  const { channels, fields } = form;
  const named = fields['channel'] ?? '';
  if (channels.length === 0 && named === '') return false;
  const isKnown = named === '' || channels.some(({ name }) => name === named);
  return choice(form, 'channel', 'Channel', [
    ['', 'all readers'],
    ...(isKnown ? [] : [[named, named] as const]),
    ...channels.map(({ name, title }) => [name, `${name}: ${title}`] as const),
  ]);
}

const timeNames: ReadonlySet<string> = new Set(['localTime', 'ifTimePassed', 'quietHours', 'timeZone']);
const options = Object.entries<OptionDescription>(deliveryOptions).filter(([name]) => name !== 'channel');

const isTime = ([name]: readonly [string, unknown]): boolean => timeNames.has(name);

const renderTimes = (form: FormState): Html =>
  foldedInputs('The reader’s time', options.filter(isTime), form);

const renderDelivery = (form: FormState): Html =>
  foldedInputs('Delivery', [['startAt', startInput], ...options.filter((option) => !isTime(option))], form);
