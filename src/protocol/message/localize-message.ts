// A message in one of its languages: what the language has of its own stands in the place of what all have.
import { messageError } from './message-error.ts';
import type { Message, MessageTexts } from './message.ts';

/** A message as its readers of one language get it. */
export interface LocalizedMessage {
  /** A canonical BCP 47 tag; undefined for the message's own text. */
  readonly language: string | undefined;
  readonly message: Message;
  /** How errors name one of its members: `texts.de.title`, or `title` where the language has none of its own. */
  readonly nameOf: (member: string) => string;
}

/**
 * The message in each of its languages, its own text first, then by their tags.
 *
 * @param message checked
 * @throws {DeskbellError} ERR_MESSAGE_INVALID if a language is there twice
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
  // what a button leaves out, it has from the button in its place
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
