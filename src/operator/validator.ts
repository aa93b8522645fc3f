// The validator of the operator's schemas, and their formats. Formats use the same checks as the rest of Deskbell, so
// that a schema refuses every value that would be refused later.
import { parsePerPerson } from '../audience/frequency-cap.ts';
import { checkChannelName, checkTitle } from '../audience/channels.ts';
import { checkValue, dataName } from '../audience/reader-facts.ts';
import { parseIsoTime, parseQuietHours } from '../audience/zone-time.ts';
import { checkName, checkTags, checkUser } from '../audience/user-and-tags.ts';
import { readRecurrence } from '../delivery/schedule/recurrence.ts';
import type { Formats } from '../errors/describe-schema.ts';
import { jsonPointer } from '../operations/bells.ts';
import { controls, isPlainText, plainTextPattern } from '../errors/untrusted-text.ts';
import type { Schema } from '../http/schema.ts';
import { createValidatorCompiler } from '../http/validation.ts';
import { decodeBase64 } from '../protocol/bytes.ts';
import { messageFormats } from '../protocol/message/value-schema.ts';
import { isP256Point } from '../protocol/p256.ts';
import { deliveryOptions, isLocalTime, maxLabelCharacters } from '../store/delivery-options.ts';
import { authBytes, keyPatterns } from '../protocol/subscription.ts';

/** Patterns for names like tags, in which any non-ASCII character may be a letter. */
const [nameStart, nameRest] = [
  String.raw`[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x9f]`,
  String.raw`[^\x00-\x2c\x2f\x3b-\x40\x5b-\x5e\x60\x7b-\x9f]*`,
];
const timeOfDay = '(?:[01][0-9]|2[0-3]):[0-5][0-9]';

/** @param check throws a `DeskbellError` if a value does not fit */
const checkedBy = (check: (value: string) => unknown) => (value: string) => {
  check(value);
  return true;
};

const nameFormat = (check: (value: string) => unknown): Formats[string] => ({
  fits: checkedBy(check),
  words: '1 to 64 bytes of letters, digits and ". _ : -" that begin with a letter or digit',
  pattern: `^${nameStart}${nameRest}$`,
});

export const operatorFormats: Formats = {
  ...messageFormats,
  'date-time': {
    fits: (value: string) => parseIsoTime(value) !== undefined,
    words: 'a time with a zone, such as 2027-01-01T09:00:00Z',
  },
  user: {
    fits: checkedBy((value) => checkUser(value, '')),
    words: '1 to 128 bytes of UTF-8 without control characters',
    pattern: plainTextPattern,
  },
  tag: nameFormat((value) => checkTags([value], '')),
  'channel-name': nameFormat((value) => checkChannelName(value, '')),
  'bell-name': nameFormat((value) => checkName(value, '', 'The name of a bell')),
  tags: {
    fits: checkedBy((value) => checkTags(splitTags(value), '')),
    words: 'tags that are separated by commas, at most 32',
    pattern: `^,*(?:${nameStart}${nameRest}(?:,+|$))*$`,
  },
  'channel-title': {
    fits: checkedBy((value) => checkTitle(value, '')),
    words: '1 to 64 characters, none of them a control character',
    pattern: String.raw`^\s*[^\s${controls}](?:[^${controls}]*[^\s${controls}])?\s*$`,
  },
  'data-name': {
    fits: (value: string) => dataName.test(value),
    words: '1 to 32 letters, digits and "_" that do not begin with a digit',
    pattern: dataName.source,
  },
  'data-text': {
    fits: checkedBy((value) => checkValue(value, '')),
    words: 'a text of at most 200 characters',
  },
  topic: {
    fits: checkedBy((value) => deliveryOptions.topic.check(value, 'topic')),
    words: `a label of at most ${maxLabelCharacters} characters, none of them a control character`,
    pattern: plainTextPattern,
  },
  'plain-text': {
    fits: isPlainText,
    words: 'text without control characters',
    pattern: plainTextPattern,
  },
  'json-pointer': {
    fits: (value: string) => jsonPointer.test(value),
    words: 'a JSON Pointer (RFC 6901), such as /alert/name',
    pattern: jsonPointer.source,
  },
  'frequency-cap': {
    fits: checkedBy(parsePerPerson),
    words: 'a number from 1 to 9999 per hour, day or week, such as 3/day',
    pattern: '^[1-9][0-9]{0,3}/(?:hour|day|week)$',
  },
  cron: {
    fits: checkedBy((value) => readRecurrence(value, 'UTC')),
    words: 'five fields, such as 0 9 * * 1',
    pattern: String.raw`^\s*(?:[^\s@]+\s+){4}[^\s@]+\s*$`,
  },
  timezone: {
    fits: checkedBy((value) => readRecurrence('* * * * *', value)),
    words: 'an IANA name, such as Europe/Berlin',
    pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
  },
  'local-time': {
    fits: isLocalTime,
    words: 'a time of a day, such as 09:00, or a local time, such as 2026-12-01T09:00',
    pattern: `^(?:[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T)?${timeOfDay}$`,
  },
  'quiet-hours': {
    fits: checkedBy(parseQuietHours),
    words: 'two times of a day that differ, such as 22:00-07:00',
    pattern: `^${timeOfDay}-${timeOfDay}$`,
  },
  endpoint: {
    fits: (value: string) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''),
    words: 'the URL that the browser gave, of at most 4,096 characters',
    pattern: '^[Hh][Tt][Tt][Pp][Ss]?://.+$',
  },
  'p256-point': {
    fits: (value: string) => isP256Point(decodeBase64(value) ?? new Uint8Array()),
    words: 'a 65-byte uncompressed point on P-256 as base64',
    pattern: keyPatterns.p256dh,
  },
  'auth-secret': {
    fits: (value: string) => decodeBase64(value)?.length === authBytes,
    words: '16 bytes as base64',
    pattern: keyPatterns.auth,
  },
};

/** Splits the comma-separated tags of a query parameter. */
export const splitTags = (text = ''): readonly string[] => text.split(',').filter((tag) => tag !== '');

export const compileValidator = createValidatorCompiler(operatorFormats);

/** Checks the input of an operation as the API does. @throws an error that names the member */
export function checkInput({ body }: { readonly body?: Schema }, input: object): void {
  const check = body && compileValidator({ schema: body } as never);
  const { error } = (check?.(input) ?? {}) as { readonly error?: Error };
  if (error !== undefined) throw error;
}
