// The message of the composer as one of its readers gets it: in a language, filled with the data of a person.
import { checkUser } from '../../audience/user-and-tags.ts';
import type { GivenReader } from '../../delivery/single/reader.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { chooseLanguage } from '../../protocol/message/choose-language.ts';
import { measureMessage } from '../../protocol/message/measure-message.ts';
import type { Message } from '../../protocol/message/message.ts';
import type { ReaderStore } from '../../store/readers.ts';
import { actionIndexes } from './action-fields.ts';
import { optionalField, textField, type Fields } from './forms.ts';
import { describeLanguage, languagesOf } from './languages.ts';
import { toMessage } from './message-form.ts';
import { lookUp } from '../../errors/look-up.ts';

export interface ShownMessage {
  /** Title, text, link and buttons as the reader sees them; undefined where they are those of the form. */
  readonly fields: Fields | undefined;
  /** Which text it is, and what it lacks. */
  readonly note: string;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE for a text that is no user */
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

/** @param data of a person; undefined where nobody is named */
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
  // what has neither a value nor a default is shown as it is written
  const values = { ...Object.fromEntries(required.map((name) => [name, `{${name}}`])), ...data };
  const filled = template?.fill(values) ?? payload;
  const shown = JSON.parse(Buffer.from(filled).toString()) as Message;
  return {
    fields: {
      title: shown.title,
      message: shown.message,
      url: shown.url ?? '',
      ...Object.fromEntries(
        actionIndexes.map((index) => [`actionTitle${index}`, shown.actions?.[index]?.title ?? '']),
      ),
    },
    note: [
      language === undefined ? 'The message’s own text.' : `The text in ${describeLanguage(language)}.`,
      ...(wanted !== undefined && wanted !== language ? [`The reader’s language is ${wanted}.`] : []),
      ...(data !== undefined && lacking.length > 0 ? [`The person has no ${lacking.join(', ')}.`] : []),
    ].join(' '),
  };
}
