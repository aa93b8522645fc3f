// Checks channels and the choices of readers, which come from applications and browsers.
import { fieldError } from '../errors/deskbell-error.ts';
import { isPlainText } from '../errors/untrusted-text.ts';
import { isJsonObject } from '../protocol/json-object.ts';
import { checkLanguage } from './reader-facts.ts';
import { checkName } from './user-and-tags.ts';

/** A topic, such as news, that readers can switch on and off. */
export interface Channel {
  /** The channel's name, which follows the rules for tags. */
  readonly name: string;
  /** The title for readers whose language is not in `titles`. */
  readonly title: string;
  /** Titles by language. */
  readonly titles: Readonly<Record<string, string>>;
  /** Whether people who have made no choice get the channel's messages. */
  readonly isOnByDefault: boolean;
}

/** A reader's choices, by channel. */
export type Choices = Readonly<Record<string, boolean>>;

/** The maximum number of channels in a store and in one set of choices. */
export const maxChannels = 100;
export const maxTitleCharacters = 64;
export const maxTitles = 50;

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE; `fields` points into the value */
export function checkChannel({ name, title, titles, isOnByDefault }: Channel): Channel {
  if (typeof isOnByDefault !== 'boolean')
    throw fieldError('ERR_FIELD_TYPE', '/isOnByDefault', 'isOnByDefault must be true or false.');
  const languages = Object.entries(titles);
  if (languages.length > maxTitles) {
    const detail = `There are titles in ${languages.length} languages; at most ${maxTitles} are allowed.`;
    throw fieldError('ERR_FIELD_VALUE', '/titles', detail);
  }
  return {
    name: checkChannelName(name, '/name'),
    title: checkTitle(title, '/title'),
    titles: Object.fromEntries(
      languages.map(([language, text]) => [
        checkLanguage(language, '/titles'),
        checkTitle(text, `/titles/${language}`),
      ]),
    ),
    isOnByDefault,
  };
}

/** @throws {DeskbellError} as `checkChannel` does */
export const checkChannelName = (name: unknown, pointer: string): string =>
  checkName(name, pointer, 'The name of a channel');

/** @throws {DeskbellError} as `checkChannel` does */
export function checkTitle(title: unknown, pointer: string): string {
  if (typeof title !== 'string') throw fieldError('ERR_FIELD_TYPE', pointer, 'A title must be a string.');
  const text = title.trim();
  if (isPlainText(text) && text !== '' && Array.from(text).length <= maxTitleCharacters) return text;
  throw fieldError(
    'ERR_FIELD_VALUE',
    pointer,
    `A title must have 1 to ${maxTitleCharacters} characters, none of them a control character.`,
  );
}

/** @throws {DeskbellError} as `checkChannel` does */
export const checkChoices = (choices: unknown, pointer: string): Choices =>
  checkEach(choices, pointer, (choice) => typeof choice === 'boolean');

/** Checks changes to choices; `null` withdraws a choice. @throws {DeskbellError} as `checkChannel` does */
export const checkChoiceChange = (
  choices: unknown,
  pointer: string,
): Readonly<Record<string, boolean | null>> =>
  checkEach(choices, pointer, (choice) => typeof choice === 'boolean' || choice === null);

function checkEach<Choice>(
  choices: unknown,
  pointer: string,
  isChoice: (choice: unknown) => choice is Choice,
): Readonly<Record<string, Choice>> {
  if (!isJsonObject(choices))
    throw fieldError('ERR_FIELD_TYPE', pointer, 'Choices must be an object with true or false by channel.');
  const given = Object.entries(choices);
  if (given.length > maxChannels) {
    const detail = `There are choices for ${given.length} channels; at most ${maxChannels} are allowed.`;
    throw fieldError('ERR_FIELD_VALUE', pointer, detail);
  }
  return Object.fromEntries(
    given.map(([name, choice]) => {
      const channel = checkChannelName(name, pointer);
      if (isChoice(choice)) return [channel, choice];
      const detail = `The choice for "${channel}" must be true or false.`;
      throw fieldError('ERR_FIELD_TYPE', `${pointer}/${channel}`, detail);
    }),
  );
}

/** @throws {DeskbellError} ERR_CHANNEL_NOT_FOUND, with the existing names, if the name is unknown */
export function checkKnown(name: string, channels: readonly Channel[], pointer: string): void {
  if (channels.some((channel) => channel.name === name)) return;
  const known =
    channels.length === 0 ? 'there are none yet' : `there are ${channels.map((one) => one.name).join(', ')}`;
  throw fieldError('ERR_CHANNEL_NOT_FOUND', pointer, `There is no channel "${name}"; ${known}.`);
}

/** @throws {DeskbellError} as `checkKnown` does, for each chosen channel */
export function checkKnownChoices(choices: object, channels: readonly Channel[], pointer: string): void {
  for (const name of Object.keys(choices)) checkKnown(name, channels, `${pointer}/${name}`);
}
