// Previews a message in a given language with a person's data, roughly as four browsers show an unexpanded
// notification. docs/notifications.md has the sources of the browsers' limits. Pictures from other hosts are not
// loaded. The page's style limits the lines.
import { formatSpan } from '../../errors/format-count.ts';
import { checkUser } from '../../audience/user-and-tags.ts';
import { nonZeroCounts } from '../../delivery/broadcast/format-broadcast.ts';
import type { GivenReader } from '../../delivery/single/reader.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/check-options.ts';
import { html, type Html } from '../../http/description/html.ts';
import { chooseLanguage } from '../../protocol/language.ts';
import { measureMessage } from '../../protocol/message/measure-message.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import { deliveryOptions, type DeliveryOptions, pickDeliveryOptions } from '../../store/delivery-options.ts';
import type { ReaderStore } from '../../store/readers.ts';
import { badge, prose, untrusted } from './components.ts';
import { actionIndexes } from './form-fields.ts';
import { figure } from './figures.ts';
import { type Fields, optionalField, textField } from './forms.ts';
import { describeLanguage, languagesOf } from './languages.ts';
import { toMessage } from './message-form.ts';

export interface ShownMessage {
  /** Title, text, link and buttons as the reader sees them. Undefined to show the form's own values. */
  readonly fields: Fields | undefined;
  /** Says which text is shown, and which values are missing. */
  readonly note: string;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE if it is not a valid user */
export async function findShownReader(fields: Fields, readers: ReaderStore): Promise<GivenReader> {
  const user = textField(fields, 'shownUser').trim();
  const person = user === '' ? undefined : await readers.person(checkUser(user, '/shownUser'));
  return { language: optionalField(fields, 'shownLanguage') ?? person?.language, data: person?.data };
}

export async function showMessage(fields: Fields, readers: ReaderStore): Promise<ShownMessage> {
  const isPlain = languagesOf(fields).length === 0 && fields['placeholders'] !== 'yes';
  if (isPlain) return { fields: undefined, note: '' };
  try {
    const { language, data } = await findShownReader(fields, readers);
    return fill(toMessage(fields), language, data, optionalField(fields, 'channel'));
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    return { fields: undefined, note: error.message };
  }
}

/** @param data the stored data of the person whose message is shown; undefined if the form names no person */
function fill(
  { declarative: _declarative, mutable: _mutable, ...message }: Message,
  wanted: string | undefined,
  data: GivenReader['data'],
  channel: string | undefined,
): ShownMessage {
  const texts = new Map(
    measureMessage(message, { channel }).map((text) => [text.localized.language, text] as const),
  );
  const language = chooseLanguage(wanted, texts);
  const { payload, template } = texts.get(language)!;
  const placeholders = template?.placeholders ?? [];
  const lacking = [
    ...new Set(placeholders.filter(({ name }) => lookUp(data, name) === undefined).map(({ name }) => name)),
  ];
  const required = placeholders.filter(({ hasDefault }) => !hasDefault).map(({ name }) => name);
  // a placeholder that has neither a value nor a default is shown as it was written
  const values = { ...Object.fromEntries(required.map((name) => [name, `{${name}}`])), ...data };
  const filled = template?.fill(values) ?? payload;
  const shown = JSON.parse(Buffer.from(filled).toString()) as Message;
  return {
    fields: {
      title: shown.title,
      message: shown.message,
      url: shown.url ?? '',
      ...Object.fromEntries(
        actionIndexes.map((index) => [`actions.${index}.title`, shown.actions?.[index]?.title ?? '']),
      ),
    },
    note: [
      language === undefined ? 'The message’s own text.' : `The text in ${describeLanguage(language)}.`,
      ...(wanted !== undefined && wanted !== language ? [`The reader’s language is ${wanted}.`] : []),
      ...(data !== undefined && lacking.length > 0 ? [`The person has no ${lacking.join(', ')}.`] : []),
    ].join(' '),
  };
}

export const renderTexts = ({ title, message }: Pick<Message, 'title' | 'message'>): Html =>
  html`<div>
    <h3>${prose(title)}</h3>
    <p>${prose(message)}</p>
  </div>`;

/** Lists the options that are set, each with its label and value. */
export const optionFacts = (
  kind: 'broadcast' | 'schedule',
  { id, ...options }: DeliveryOptions & { readonly id: number },
): readonly (readonly [string, string | Html])[] =>
  Object.entries(pickDeliveryOptions(options))
    .filter(([, value]) => value !== false)
    .map(([name, value]) => {
      if (name === 'ttlSeconds')
        return ['TTL', figure(`${kind}.ttlSeconds`, Number(value), id, (seconds) => formatSpan(seconds, 4))];
      const { label } = deliveryOptions[name as keyof DeliveryOptions].field;
      return [label, value === true ? 'yes' : untrusted(String(value))];
    });

/** `1,200 accepted, 3 gone` */
export const outcomesOf = (broadcast: Broadcast): Html =>
  html`<span class="quiet small number"
    >${nonZeroCounts(broadcast).map(
      ([name, count], index) =>
        `${index > 0 ? ', ' : ''}${figure(`broadcast.${name}`, count, broadcast.id)} ${name}`,
    )}</span
  >`;

const pictures = ['icon', 'image', 'badge'] as const;

/** The maximum number of characters in a preview. No browser shows that many. */
const maxPreviewCharacters = 500;

interface Surface {
  readonly name: string;
  /** A CSS class that limits how many lines of title and text are shown. */
  readonly style: string;
  /** The pictures that this browser shows. The preview draws only the icon. */
  readonly pictures: readonly (typeof pictures)[number][];
  readonly maxActions: number;
  /** Whether buttons show before the notification is expanded. */
  readonly hasActionsAtFirst: boolean;
  readonly note: string;
}

/** The browsers' notifications as they look before they are expanded. */
const surfaces: readonly Surface[] = [
  {
    name: 'Chrome on Windows',
    style: 'windows',
    pictures: ['icon', 'image'],
    maxActions: 2,
    hasActionsAtFirst: true,
    note: 'Title: 2 lines. Text: 4 lines.',
  },
  {
    name: 'Firefox on Linux',
    style: 'linux',
    pictures: ['icon'],
    maxActions: 3,
    hasActionsAtFirst: false,
    note: 'On GNOME. Title: 1 line. Text: 1 line; unfolded 6, with the buttons.',
  },
  {
    name: 'Safari on macOS',
    style: 'macos',
    pictures: [],
    maxActions: 0,
    hasActionsAtFirst: false,
    note: 'Approximate: Apple documents no figures. Title: 1 line. Text: 4 lines.',
  },
  {
    name: 'Chrome on Android',
    style: 'android',
    pictures,
    maxActions: 2,
    hasActionsAtFirst: false,
    note: 'Title: 1 line. Text: 1 line; unfolded all of it, with image and buttons.',
  },
];

export function renderPreviews(fields: Fields): Html {
  return html`<div class="previews">${surfaces.map((surface) => renderSurface(surface, fields))}</div>
    <p class="quiet small">
      A click opens ${fields['url'] || 'your page'}. Widths and fonts are those of this page: where a line
      ends differs from what people see.
    </p>`;
}

function renderSurface(surface: Surface, fields: Fields): Html {
  const { icon = '' } = fields;
  const [title, message] = ['title', 'message'].map((name) =>
    (lookUp(fields, name) ?? '').slice(0, maxPreviewCharacters),
  );
  const { name, style, maxActions, hasActionsAtFirst, note } = surface;
  const actions = actionIndexes.slice(0, maxActions).map((index) => lookUp(fields, `actions.${index}.title`));
  const omitted = omissions(surface).filter(([field]) => lookUp(fields, field));
  const picture =
    surface.pictures.includes('icon') && /^data:image\//i.test(icon) ? icon : '/console/icon.svg';
  return html`<figure class="preview ${style}">
    <figcaption class="small"><strong>${name}</strong></figcaption>
    <div class="notification">
      <span class="picture" aria-hidden="true"><img src="${picture}" alt="" /></span>
      <strong data-sample="Title" dir="auto">${title}</strong>
      <p class="message" data-sample="What you want to say" dir="auto">${message}</p>
      ${style === 'windows' && fields['image'] && html`<span class="image small quiet">The image stands here.</span>`}
      ${
        hasActionsAtFirst &&
        html`<ul class="actions">
          ${actions.filter(Boolean).map((text) => html`<li>${text}</li>`)}
        </ul>`
      }
    </div>
    <p class="quiet small">${note}</p>
    ${
      omitted.length > 0 &&
      html`<div class="omitted small">
        <span class="quiet">Not shown:</span>
        <ul>
          ${omitted.map(([, what]) => html`<li>${badge(what, 'warn')}</li>`)}
        </ul>
      </div>`
    }
  </figure>`;
}

/** The fields that this browser never shows. */
const omissions = ({ pictures: shown, maxActions }: Surface): readonly (readonly [string, string])[] => [
  ...pictures.filter((name) => !shown.includes(name)).map((name) => [name, name] as const),
  ...actionIndexes
    .slice(maxActions)
    .map((index) => [`actions.${index}.title`, `button ${index + 1}`] as const),
];
