// A message in one of its languages: members of the language replace those of the message.
import { messageError } from './message-error.ts';
import type { Message, MessageTexts } from './message.ts';

/** A message for the readers of one language. */
export interface LocalizedMessage {
  /** A canonical BCP 47 tag; undefined for the message's own text. */
  readonly language: string | undefined;
  readonly message: Message;
  /** The name of a member in errors: `texts.de.title`, or `title` if the language does not override it. */
  readonly nameOf: (member: string) => string;
}

/**
 * The message in each of its languages: its own text first, then the others by tag.
 *
 * @param message checked
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
  // a button's missing members come from the message's button at the same position
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
