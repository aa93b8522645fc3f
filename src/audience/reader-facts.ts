// Checks facts about a reader that come from applications and browsers: language, time zone, data for placeholders.
import { fieldError } from '../errors/deskbell-error.ts';
import { isJsonObject } from '../protocol/json-object.ts';
import { valueName } from '../protocol/message/placeholders.ts';
import { readLanguage } from '../protocol/language.ts';
import { formatOf } from './zone-time.ts';

/** The application's data about a person. The values in this object replace placeholders in messages. */
export type PersonData = Readonly<Record<string, string | number>>;

/** No time zone has a longer name. */
const maxTimeZoneCharacters = 64;
const maxDataBytes = 1024;
const maxTextCharacters = 200;
/** Matches valid names in a person's data. */
export const dataName = new RegExp(`^${valueName}$`);

/** @returns the time zone in its usual form, undefined if it is not a time zone */
export function readTimeZone(timeZone: unknown): string | undefined {
  // refuses an offset such as +01:00, since a reader's offset may change during the year
  if (typeof timeZone !== 'string' || !/^[A-Za-z]/.test(timeZone)) return undefined;
  if (timeZone.length > maxTimeZoneCharacters) return undefined;
  try {
    return formatOf(timeZone).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
export const checkLanguage = (language: unknown, pointer: string): string =>
  require(language, readLanguage, pointer, 'The language must be a BCP 47 language tag, such as de or pt-BR.');

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
export const checkTimeZone = (timeZone: unknown, pointer: string): string =>
  require(timeZone, readTimeZone, pointer, 'The time zone must be the IANA name of one, such as Europe/Berlin, or UTC.');

function require(
  value: unknown,
  read: (value: unknown) => string | undefined,
  pointer: string,
  detail: string,
): string {
  const known = read(value);
  if (known !== undefined) return known;
  throw fieldError(typeof value === 'string' ? 'ERR_FIELD_VALUE' : 'ERR_FIELD_TYPE', pointer, detail);
}

/**
 * Checks data, or a change to data that removes values with `null`.
 *
 * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE; `fields` points into the value
 */
export function checkData<Value extends string | number | null>(
  data: Readonly<Record<string, Value>>,
  pointer: string,
): Readonly<Record<string, Value>> {
  if (!isJsonObject(data))
    throw fieldError('ERR_FIELD_TYPE', pointer, 'The data must be an object of texts and numbers.');
  for (const [name, value] of Object.entries(data)) {
    if (!dataName.test(name)) {
      const detail =
        'The name of a value must have 1 to 32 letters, digits and "_", and not begin with a digit.';
      throw fieldError('ERR_FIELD_VALUE', pointer, detail);
    }
    checkValue(value, `${pointer}/${name}`);
  }
  checkDataSize(data, pointer);
  return data;
}

/** Checks a value in a person's data. @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
export function checkValue(value: unknown, pointer: string): void {
  const isText = typeof value === 'string';
  if (!isText && typeof value !== 'number' && value !== null)
    throw fieldError('ERR_FIELD_TYPE', pointer, 'A value must be a text or a number.');
  if (isText && (Array.from(value).length > maxTextCharacters || !value.isWellFormed())) {
    const detail = `A text must be well-formed Unicode of at most ${maxTextCharacters} characters.`;
    throw fieldError('ERR_FIELD_VALUE', pointer, detail);
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw fieldError('ERR_FIELD_VALUE', pointer, 'A number must be finite.');
}

/** @throws {DeskbellError} ERR_FIELD_VALUE if a person's data would be too large */
export function checkDataSize(data: object, pointer: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (bytes <= maxDataBytes) return;
  const detail = `The data has ${bytes} bytes as JSON; at most ${maxDataBytes} are allowed.`;
  throw fieldError('ERR_FIELD_VALUE', pointer, detail);
}
