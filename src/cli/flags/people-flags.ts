// The flags that name subscriptions by their user and tags, for `deskbell send` and `deskbell subscriptions`.
import type { Command } from 'commander';
import type { MatchingAudience } from '../../delivery/broadcast/audience.ts';
import { addOptions } from '../command.ts';

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

/** @param conflicts attributes of options that name subscriptions in another way */
export function addPeopleFlags<Extended extends Command>(
  command: Extended,
  verb: string,
  conflicts: readonly string[] = [],
): Extended {
  const repeatable = 'May be given several times.';
  return addOptions(command, conflicts, [
    ['--user <id>', `${verb} all devices of this person.`],
    ['--tag <tag>', `${verb} subscriptions with this tag; given several times, with all of them.`, collect],
    ['--any-tag <tag>', `${verb} subscriptions with at least one of these tags. ${repeatable}`, collect],
    ['--not-tag <tag>', `${verb} subscriptions without this tag. ${repeatable}`, collect],
  ]);
}

/** @returns `undefined` where none of the flags is given. Its members are not checked yet */
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

/** `beta,de`; the tags themselves are checked where they are used. */
export const parseTags = (text: string): readonly string[] => text.split(',').map((tag) => tag.trim());
