// Parses the values of flags and arguments that are not configuration.
import { InvalidArgumentError } from 'commander';
import { parseIsoTime } from '../../delivery/parse-iso-time.ts';

const wholeNumber =
  (expected: string, min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be ${expected}.`);
  };

export const parsePositiveInteger = wholeNumber('a positive integer', 1);
export const parsePort = wholeNumber('an integer from 0 to 65535', 0, 65_535);
export const parseWholeNumber = wholeNumber('a whole number', 0);

export function parseIds(text: string): readonly number[] {
  return text.split(',').map((id) => parsePositiveInteger(id.trim()));
}

/** Of an operator: it stands in audit records, and in one column of a list. */
export function parseOperatorName(text: string): string {
  if (/^[\w.@-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 letters, digits, or any of "." "_" "-" "@".');
}

/** Scheme, host and port of a push service, as `URL.origin` gives it. */
export function parseOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new InvalidArgumentError(
      'It must be the origin of a push service, such as https://fcm.googleapis.com.',
    );
  }
  return url.origin;
}

/** A time with a zone. */
export function parseTime(text: string): Date {
  const timeMs = parseIsoTime(text);
  if (timeMs !== undefined) return new Date(timeMs);
  throw new InvalidArgumentError(
    'It must be a time with a zone, such as 2027-01-01T09:00:00Z or 2027-01-01T09:00+01:00.',
  );
}
