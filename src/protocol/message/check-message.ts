// Checks a message before it is encoded. Browsers would silently drop members that they do not accept, or the whole
// notification. Errors name the member and never show its value.
import { lookUp, typeOf } from '../../errors/check-options.ts';
import { describeSchema } from '../../errors/describe-schema.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { memberDescriptions, messageSchema } from './members.ts';
import type { Message, MessageAction, MessageTexts } from './message.ts';
import { findFault, memberError, messageError, messageFormats } from './value-schema.ts';

/** A message with the texts of one of its languages. */
export interface LocalizedMessage {
  /** A canonical BCP 47 tag; undefined for the message's own text. */
  readonly language: string | undefined;
  readonly message: Message;
  /** Returns a member's name for errors: `texts.de.title`, or `title` if the language does not override it. */
  readonly nameOf: (member: string) => string;
}

/**
 * Returns the message in each of its languages: its own text first, then the others in the order of their tags.
 *
 * @param message must have passed the check
 * @throws {DeskbellError} ERR_MESSAGE_INVALID if a language is given twice
 */
export function localizeMessage(message: Message): readonly LocalizedMessage[] {
  if (message.texts === undefined) return [asItIs(message)];
  const { texts, ...own } = message;
  const byLanguage = new Map<string, LocalizedMessage>();
  for (const [tag, text] of Object.entries(texts)) {
    if (text === undefined) continue;
    const [language = tag] = Intl.getCanonicalLocales(tag);
    if (byLanguage.has(language))
      throw messageError(`texts.${tag}`, 'the same language as an earlier one', 'each language once');
    byLanguage.set(language, localize(own, text, language, tag));
  }
  const sorted = [...byLanguage.values()].toSorted((one, other) =>
    one.language! < other.language! ? -1 : 1,
  );
  return [asItIs(own), ...sorted];
}

const asItIs = (message: Message): LocalizedMessage => ({ language: undefined, message, nameOf: itself });
const itself = (member: string): string => member;

function localize(own: Message, text: MessageTexts, language: string, tag: string): LocalizedMessage {
  const given = withoutUndefined(text);
  // members that a button omits come from the button at the same position in the message's own text
  const actions = text.actions?.map((action, index) => ({
    ...own.actions?.[index],
    ...withoutUndefined(action),
  }));
  return {
    language,
    message: { ...own, ...given, ...(actions && { actions }), lang: language },
    nameOf: (member) => (Object.hasOwn(given, /^\w+/.exec(member)![0]) ? `texts.${tag}.${member}` : member),
  };
}

type Defined<Members> = { readonly [Name in keyof Members]: Exclude<Members[Name], undefined> };

const withoutUndefined = <Members extends object>(members: Members): Defined<Members> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<Members>;

/**
 * @returns the message in each of its languages, as `localizeMessage` returns it
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, saying which member is wrong, why, and what to give instead
 */
export function checkMessage(message: Message): readonly LocalizedMessage[] {
  if (typeOf(message) !== 'object') {
    throw new DeskbellError(
      'ERR_MESSAGE_INVALID',
      `The message is of type ${typeOf(message)}; give an object with title and message.`,
    );
  }
  const found = findFault(message, messageSchema, '');
  if (found?.fault === 'unknown') {
    throw new DeskbellError(
      'ERR_MESSAGE_INVALID',
      `Unknown message member "${found.path}"; put your own values into "data".`,
    );
  }
  if (found !== undefined) {
    const { path, fault, schema, cause } = found;
    throw messageError(
      path,
      fault,
      lookUp(memberDescriptions, path)?.expected ?? describeSchema(schema, messageFormats),
      cause,
    );
  }
  const localized = localizeMessage(message);
  for (const text of localized) checkActionNames(text);
  return localized;
}

function checkActionNames({ message: { actions = [] }, nameOf }: LocalizedMessage): void {
  const names = new Set<string>();
  for (const [index, action] of actions.entries()) {
    const name = actionName(action, index);
    if (names.has(name)) {
      throw messageError(
        nameOf(`actions[${index}].action`),
        'the same as that of an earlier action',
        'each action a different name',
      );
    }
    names.add(name);
  }
}

/** Returns an action's name. The default is the action's index. */
export function actionName({ action }: MessageAction, index: number): string {
  return action ?? String(index);
}

/**
 * Returns the names of a message's actions in all of its languages.
 *
 * @param message must have passed the check
 */
export const actionNames = (message: Message): readonly string[] => [
  ...new Set(localizeMessage(message).flatMap(({ message: { actions = [] } }) => actions.map(actionName))),
];

/**
 * True if a message has no text. The library sends any text, but an empty text from a person or a script is a mistake,
 * such as an unset shell variable.
 */
export const isBlank = ({ title, message }: Pick<Message, 'title' | 'message'>): boolean =>
  `${title}${message}`.trim() === '';

/**
 * @throws {DeskbellError} ERR_MESSAGE_INVALID if title and message are both blank in any language; also the errors of
 *   `checkMessage`
 */
export function assertNotBlank(message: Message): void {
  for (const { message: text, nameOf } of checkMessage(message)) {
    if (!isBlank(text)) continue;
    const members = ['title', 'message'].map(nameOf);
    const detail = `The members ${members.join(' and ')} of the message are both blank; give at least one of them a text.`;
    throw new DeskbellError('ERR_MESSAGE_INVALID', detail, {
      fields: members.flatMap((member) => memberError('ERR_MESSAGE_INVALID', member, detail).fields),
    });
  }
}
