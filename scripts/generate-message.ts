// Writes what follows from the members of a message (src/protocol/message/members.ts): the types of the library and of the
// page, and the table in docs/notifications.md. With --check it writes nothing and fails where a file differs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeSchema } from '../src/errors/describe-schema.ts';
import {
  actionMembers,
  memberDescriptions,
  messageSchema,
  textDescriptions,
  type MemberDescription,
} from '../src/protocol/message/members.ts';
import { messageFormats, type ValueSchema, type ValueType } from '../src/protocol/message/value-schema.ts';
import { tableRow, writePage } from './write-page.ts';

type Members = Readonly<
  Record<string, Pick<MemberDescription, 'schema' | 'description'> & Partial<MemberDescription>>
>;

const required: ReadonlySet<string> = new Set(messageSchema.required);

const made = '// Made from src/protocol/message/members.ts by `npm run docs`; do not edit.';

await writePage('src/protocol/message/message.ts', renderMessage());
await writePage('src/client/push-message.ts', renderPushMessage());
await writePage('docs/notifications.md', await renderTable());

function renderMessage(): string {
  return `// The members of a message. Their names are those of the Notifications API, if it has such a member.
${made}

/**
 * The notification to be shown. A message needs only \`title\` and \`message\`. By default, all notifications have the
 * same tag, so each notification replaces the previous one without a sound. A notification stays until the user
 * dismisses it.
 *
 * @see https://notifications.spec.whatwg.org/#dictdef-notificationoptions
 */
export interface Message {
${renderMembers(memberDescriptions, (name, type) => (required.has(name) ? `${name}: ${type}` : `${name}?: ${orUndefined(type)}`))}
}

/** A button of a notification. */
export interface MessageAction {
${renderMembers(actionMembers, (name, type) => (name === 'title' ? `${name}: ${type}` : `${name}?: ${orUndefined(type)}`))}
}

/**
 * A translation of a message into one language. If a translated button lacks a field, Deskbell uses the field of the
 * untranslated button at the same index.
 */
export interface MessageTexts {
${renderMembers(textDescriptions, (name, type) => `${name}?: ${orUndefined(type)}`, 'the value in the message')}
}
`;
}

/** The message that the service worker receives: encoding has named the actions, and has replaced a null tag. */
function renderPushMessage(): string {
  const members = Object.fromEntries(
    Object.entries(memberDescriptions).filter(([, { readBy }]) => readBy !== 'encoder'),
  );
  const options = Object.entries(members).filter(([, { readBy }]) => readBy === undefined);
  const isPicture = ([, { schema }]: (typeof options)[number]): boolean => schema.format === 'picture';
  return `// A message as the page and the service worker receive it.
${made}

/** Members that are options of the notification with the same name. */
${renderNames(
  'optionNames',
  options.filter((member) => !isPicture(member)),
)}
/** Members whose value is the URL of a picture. They are options of the notification too. */
${renderNames('pictureNames', options.filter(isPicture))}

/** A push message as this browser received it: \`title\`, \`message\`, and the members that the sender set. */
export interface PushMessage {
${renderMembers(members, (name, type) => `${name}${required.has(name) ? '' : '?'}: ${typeInPage(type)}`)}
  /** Milliseconds since 1970, by this browser's clock. */
  readonly receivedAtMs: number;
  /** An id that stays the same if the message is delivered twice. Present only if the sender asked to alert again. */
  readonly id?: string;
  /** The channel that the action \`turn-off-channel\` turns off. */
  readonly channel?: string;
  /** Proves that the service worker's reports on the message are genuine. Present if the sender asked for receipts. */
  readonly receipt?: string | undefined;
}

/** A button of a notification. */
export interface PushMessageAction {
${renderMembers(actionMembers, (name, type) => `${name}${name === 'title' || name === 'action' ? '' : '?'}: ${type}`)}
}
`;
}

/** As the formatter has it: in one line if it fits. */
function renderNames(list: string, members: readonly (readonly [string, unknown])[]): string {
  const names = members.map(([name]) => `'${name}'`);
  const line = `export const ${list} = [${names.join(', ')}] as const;`;
  return line.length <= 110 ? line : `export const ${list} = [\n  ${names.join(',\n  ')},\n] as const;`;
}

/** @param fallbackOfAll what holds where any of them is not given */
function renderMembers(
  members: Members,
  declare: (name: string, type: string) => string,
  fallbackOfAll?: string,
): string {
  return Object.entries(members)
    .map(([name, { schema, description, byDefault = 'required' }]) => {
      const given = fallbackOfAll ?? byDefault.replace(/; see \[.*/, '');
      const fallback = given === 'required' ? '' : ` Default: ${given}.`;
      return `  /** ${description}${fallback} */\n  readonly ${declare(name, typeScriptOf(schema))};`;
    })
    .join('\n');
}

function typeScriptOf({ type, enum: choices, items, properties, additionalProperties }: ValueSchema): string {
  if (additionalProperties !== undefined) return 'Readonly<Record<string, MessageTexts>>';
  if (choices !== undefined) return choices.map((value) => `'${value}'`).join(' | ');
  if (properties !== undefined) return 'MessageAction';
  if (Array.isArray(type)) return type.map((each: ValueType) => typeScriptOf({ type: each })).join(' | ');
  switch (type) {
    case 'integer':
      return 'number';
    case 'array':
      return `readonly ${typeScriptOf(items ?? {})}[]`;
    case undefined:
      return 'unknown';
    default:
      return String(type);
  }
}

function orUndefined(type: string): string {
  return type === 'unknown' ? type : `${type} | undefined`;
}

async function renderTable(): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../docs/notifications.md'), 'utf8');
  const rows = Object.entries(memberDescriptions).map(
    ([name, { schema, expected = describeSchema(schema, messageFormats), description, byDefault }]) =>
      tableRow(`\`${name}\``, description, expected, byDefault),
  );
  const table = ['| Field | What it is | Takes | Default |', '|---|---|---|---|', ...rows].join('\n');
  return page.replace(/(<!-- members:[^>]*-->\n)[^]*?(<!-- end of members -->)/, `$1\n${table}\n\n$2`);
}

function typeInPage(type: string): string {
  return type.replace(' | null', '').replace('MessageAction', 'PushMessageAction');
}
