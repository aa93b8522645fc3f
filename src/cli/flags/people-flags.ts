// The flags that name subscriptions by their user and tags, for `deskbell send` and `deskbell subscriptions`.
import { Option, type Command } from 'commander';
import type { MatchingAudience } from '../../delivery/broadcast/audience.ts';

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
export function addPeopleFlags(command: Command, verb: string, conflicts: readonly string[] = []): Command {
  const option = (flags: string, what: string) =>
    new Option(flags, `${verb} ${what}`).conflicts([...conflicts]);
  return command
    .addOption(option('--user <id>', 'all devices of this person.'))
    .addOption(
      option('--tag <tag>', 'subscriptions with this tag; given several times, with all of them.').argParser(
        collect,
      ),
    )
    .addOption(
      option(
        '--any-tag <tag>',
        'subscriptions with at least one of these tags. May be given several times.',
      ).argParser(collect),
    )
    .addOption(
      option('--not-tag <tag>', 'subscriptions without this tag. May be given several times.').argParser(
        collect,
      ),
    );
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
