// Describes each member of a message once. The checks, the operator API's schema, the flags of `deskbell send`, the
// fields of the console, the types `Message` and `PushMessage`, the service worker's notification options and the table
// in docs/notifications.md are made from these descriptions. client/worker/show.ts handles the members that are not
// notification options.
import { maxLanguageCharacters } from '../language.ts';
import type { ValueSchema } from './value-schema.ts';

export interface MemberDescription {
  readonly schema: ValueSchema;
  /** One sentence that suits the documentation, the API, the command line and the console. */
  readonly description: string;
  /** The behaviour if the member is absent. */
  readonly byDefault: string;
  /** What callers should give, for error messages, if the schema alone does not say it. */
  readonly expected?: string;
  /** Command-line flag. Default: the name in kebab case. */
  readonly flag?: string;
  /** A description for the command-line flag, if the flag accepts fewer values than the member of a message. */
  readonly flagDescription?: string;
  /** The member's field in the console's form for messages. */
  readonly field: FieldDescription;
  /**
   * Who uses the member: the encoder, which does not send the member to the browser, or code in the service worker. If
   * absent, the member is a notification option of the same name.
   */
  readonly readBy?: 'encoder' | 'service worker';
}

export interface FieldDescription {
  readonly label: string;
  readonly hint?: string;
  readonly group: 'texts' | 'pictures' | 'actions' | 'readers' | 'behaviour';
  /** Values to choose from, with labels. The empty value is the default. */
  readonly choices?: Readonly<Record<string, string>>;
}

const link = { type: 'string', format: 'link' } as const;
const picture = { type: 'string', format: 'picture' } as const;
const filledText = { type: 'string', minLength: 1 } as const;
const flag = { type: 'boolean' } as const;

export const actionMembers = {
  title: { schema: filledText, description: 'Text of the button.' },
  action: {
    schema: { ...filledText, format: 'action-name' },
    description:
      'Name of the action, which the service worker receives; unique in the message. Default: the index of the button, starting with 0.',
  },
  url: {
    schema: link,
    description: 'URL that a click on the button opens. Default: the `url` of the message.',
  },
  icon: { schema: picture, description: 'Image beside the text of the button.' },
} as const;

const actionSchema: ValueSchema = {
  type: 'object',
  required: ['title'],
  properties: schemasOf(actionMembers),
};

/** Members that can differ between languages. */
const textMembers = {
  title: {
    schema: { type: 'string' },
    description: 'Title of the notification.',
    byDefault: 'required',
    field: { label: 'Title', group: 'texts' },
    readBy: 'service worker',
  },
  message: {
    schema: { type: 'string' },
    description: 'Body text of the notification.',
    byDefault: 'required',
    field: { label: 'Text', group: 'texts' },
    readBy: 'service worker',
  },
  url: {
    schema: link,
    description: 'URL that a click on the notification opens.',
    byDefault: 'the folder that contains both the page and the service worker',
    field: {
      label: 'Opens',
      hint: 'URL that a click opens: absolute, or relative to your page.',
      group: 'texts',
    },
    readBy: 'service worker',
  },
  actions: {
    schema: { type: 'array', items: actionSchema },
    description: 'Buttons, the most important first. Browsers show as many as fit.',
    expected: 'an array of actions, each { title, action, url, icon } with a title at least',
    byDefault: 'no buttons',
    field: { label: 'Buttons', group: 'actions' },
    readBy: 'service worker',
  },
} as const satisfies Readonly<Record<string, MemberDescription>>;

/** `textMembers` with a general type, for code that treats all members alike. */
export const textDescriptions: Readonly<Record<string, MemberDescription>> = textMembers;

const textsSchema: ValueSchema = {
  type: 'object',
  maxProperties: 50,
  propertyNames: { type: 'string', format: 'language', maxLength: maxLanguageCharacters },
  additionalProperties: { type: 'object', properties: schemasOf(textMembers) },
};

const messageMembers = {
  title: textMembers.title,
  message: textMembers.message,
  url: textMembers.url,
  icon: {
    schema: picture,
    description: 'Image beside the text.',
    byDefault: 'none',
    field: { label: 'Icon', hint: 'URL of an image beside the text.', group: 'pictures' },
  },
  image: {
    schema: picture,
    description: 'Large image.',
    byDefault: 'none',
    field: { label: 'Image', hint: 'URL of a large image.', group: 'pictures' },
  },
  badge: {
    schema: picture,
    description: 'Small monochrome image for a status bar.',
    byDefault: 'none',
    field: { label: 'Badge', hint: 'URL of a small image for a status bar.', group: 'pictures' },
  },
  actions: textMembers.actions,
  texts: {
    schema: textsSchema,
    description:
      'Translations. Readers get the translation into their language, such as de-AT, or else into the language without its region, such as de. Other readers get the message itself.',
    expected:
      'an object of at most 50 language tags, each with { title, message, url, actions } or some of them, such as { de: { title: "Hallo" } }',
    byDefault: 'no translations; see [translations](times-and-languages.md#translations)',
    field: {
      label: 'In other languages',
      hint: 'JSON: {"de": {"title": "Hallo", "message": "Es regnet"}}',
      group: 'readers',
    },
    readBy: 'encoder',
  },
  placeholders: {
    schema: flag,
    description:
      'Whether {name} and {name|default} in title, message, url and buttons are replaced with the reader’s data.',
    byDefault: '`false`: braces are plain text; see [placeholders](times-and-languages.md#placeholders)',
    field: {
      label: 'With placeholders',
      hint: '{name|there} becomes the name in the reader’s data, or “there” if there is none. For braces, write {{ and }}.',
      group: 'readers',
    },
    readBy: 'encoder',
  },
  tag: {
    schema: { type: ['string', 'null'], minLength: 1 },
    description:
      'A notification replaces an earlier notification with the same tag. With null, the notification gets a unique tag and replaces no other.',
    expected: 'a string that is not empty, or null for a unique tag',
    byDefault: '`deskbell`',
    flag: 'notification-tag',
    flagDescription:
      'A notification replaces an earlier notification with the same tag. If the notification must not replace another one, use --json-message and set the tag to null.',
    field: { label: 'Tag', group: 'behaviour' },
  },
  renotify: {
    schema: flag,
    description: 'Whether a notification that replaces another one alerts the user again.',
    byDefault: '`false`',
    field: { label: 'Alert again if it replaces another one', group: 'behaviour' },
  },
  requireInteraction: {
    schema: flag,
    description: 'Whether the notification stays until the user dismisses it.',
    byDefault: '`true`',
    flag: 'no-require-interaction',
    field: {
      label: 'Stays',
      group: 'behaviour',
      choices: { '': 'until it is dismissed', no: 'as long as the browser decides' },
    },
  },
  silent: {
    schema: flag,
    description: 'Whether the notification makes no sound and does not vibrate.',
    byDefault: 'the browser decides',
    field: { label: 'Without sound and vibration', group: 'behaviour' },
  },
  timestamp: {
    // the latest time that `Date` can represent
    schema: { type: 'integer', minimum: 0, maximum: 8.64e15, format: 'timestamp' },
    description: 'When the event happened: milliseconds since 1970.',
    byDefault: 'the time of arrival',
    field: { label: 'When it happened', group: 'behaviour' },
  },
  lang: {
    schema: { type: 'string', format: 'language' },
    description: 'BCP 47 language tag of the text.',
    byDefault: 'the browser decides',
    field: { label: 'Language', hint: 'Such as de or pt-BR.', group: 'behaviour' },
  },
  dir: {
    schema: { type: 'string', enum: ['auto', 'ltr', 'rtl'] },
    description: 'Direction of the text.',
    byDefault: 'the browser decides',
    flag: 'text-direction',
    field: {
      label: 'Direction of the text',
      group: 'behaviour',
      choices: { '': 'as the browser decides', auto: 'auto', ltr: 'left to right', rtl: 'right to left' },
    },
  },
  appBadge: {
    schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    description: 'Number on the icon of an installed web app. 0 removes the number.',
    expected: 'a whole number, 0 to remove the badge',
    byDefault: 'the number does not change',
    field: { label: 'Number on the app’s icon', hint: '0 removes it.', group: 'behaviour' },
    readBy: 'service worker',
  },
  data: {
    schema: {},
    description: 'Any JSON value, for the page and its service worker.',
    byDefault: 'none',
    flag: 'json-data',
    field: {
      label: 'Data',
      hint: 'Any JSON value, for your page and its service worker.',
      group: 'behaviour',
    },
    readBy: 'service worker',
  },
  declarative: {
    schema: flag,
    description:
      'Whether browsers may show the message without the service worker, if they can. The payload then also contains the declarative form, which needs a title and absolute URLs.',
    byDefault: '`false`; see [below](#the-declarative-form)',
    field: {
      label: 'Also in the declarative form',
      hint: 'Some browsers can show it without the service worker. It needs a title and absolute URLs.',
      group: 'behaviour',
    },
    readBy: 'encoder',
  },
  mutable: {
    schema: flag,
    description:
      'Whether the service worker may change a notification that the browser shows from the declarative form.',
    byDefault: '`false`; see [below](#the-declarative-form)',
    field: { label: 'The service worker may change the declarative form', group: 'behaviour' },
    readBy: 'encoder',
  },
} as const satisfies Readonly<Record<string, MemberDescription>>;

/** `messageMembers` with a general type, for code that treats all members alike. */
export const memberDescriptions: Readonly<Record<string, MemberDescription>> = messageMembers;

export const messageSchema: ValueSchema = {
  type: 'object',
  required: ['title', 'message'],
  properties: schemasOf(messageMembers),
};

function schemasOf(
  members: Readonly<Record<string, { readonly schema: ValueSchema }>>,
): Readonly<Record<string, ValueSchema>> {
  return Object.fromEntries(Object.entries(members).map(([name, { schema }]) => [name, schema]));
}
