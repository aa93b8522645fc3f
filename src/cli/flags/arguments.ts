// Parses the values of flags and arguments that are not configuration.
import { type Command, InvalidArgumentError } from 'commander';
import type { MatchingAudience } from '../../delivery/broadcast/audience.ts';
import { parseIsoTime } from '../../audience/zone-time.ts';
import { addOptions } from '../command.ts';

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

/** The name of an operator, as it appears in audit records and in one column of a list. */
export function parseOperatorName(text: string): string {
  if (/^[\w.@-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be 1 to 64 letters, digits, or any of "." "_" "-" "@".');
}

/** The origin of a push service. */
export function parseOrigin(
  text: string,
  what = 'the origin of a push service, such as https://fcm.googleapis.com',
): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new InvalidArgumentError(`It must be ${what}.`);
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

export interface PeopleFlags {
  readonly user?: string;
  readonly tag?: readonly string[];
  readonly anyTag?: readonly string[];
  readonly notTag?: readonly string[];
}

export const peopleFlagNames = [
  'user',
  'tag',
  'anyTag',
  'notTag',
] as const satisfies readonly (keyof PeopleFlags)[];

/** @param conflicts attributes of other options that select subscriptions; not to be combined with these flags */
export function addPeopleFlags<Extended extends Command>(
  command: Extended,
  verb: string,
  conflicts: readonly string[] = [],
): Extended {
  const repeatable = 'You can repeat this option.';
  return addOptions(command, conflicts, [
    ['--user <id>', `${verb} all devices of this person.`],
    [
      '--tag <tag>',
      `${verb} subscriptions with this tag. If you give several tags, subscriptions need all of them.`,
      collect,
    ],
    ['--any-tag <tag>', `${verb} subscriptions with at least one of these tags. ${repeatable}`, collect],
    ['--not-tag <tag>', `${verb} subscriptions without this tag. ${repeatable}`, collect],
  ]);
}

/** @returns `undefined` if none of the flags is given; otherwise an expression whose members are not checked yet */
export function expressionOf({
  user,
  tag: all,
  anyTag: any,
  notTag: none,
}: PeopleFlags): MatchingAudience | undefined {
  const hasTags = all !== undefined || any !== undefined || none !== undefined;
  if (user === undefined && !hasTags) return undefined;
  return { ...(user !== undefined && { user }), tags: { all, any, none } };
}

const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

/** Splits tags such as `beta,de`, which are checked later. */
export const parseTags = (text: string): readonly string[] => text.split(',').map((tag) => tag.trim());
