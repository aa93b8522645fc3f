// The origin of a broadcast as text: the requested audience and the creator.
import { hostname } from 'node:os';
import { checkOptions, isText, isWholeNumber, wrong, type OptionChecks } from '../../errors/check-options.ts';
import type { AskedAudience, BroadcastCreator, ListKind } from '../../store/broadcasts.ts';

const notRecorded = 'not recorded';

const listTexts: Readonly<Record<ListKind, string>> = {
  ids: 'a list of subscription ids',
  subscriptions: 'a list of given subscriptions',
};

/** `every subscription`, `the user "42", with all of the tags news, de` */
export function formatAskedAudience(audience: AskedAudience | undefined): string {
  if (audience === undefined) return notRecorded;
  if (audience === 'all') return 'every subscription';
  if ('list' in audience) return listTexts[audience.list];
  const { user, tags = {} } = audience;
  const parts = [
    ['all of the tags', tags.all],
    ['one of the tags', tags.any],
    ['none of the tags', tags.none],
  ] as const;
  const tagTexts = parts.flatMap(([words, names = []]) =>
    names.length === 0 ? [] : [`${words} ${names.join(', ')}`],
  );
  const whose = user === undefined ? 'subscriptions' : `the user ${JSON.stringify(user)}`;
  return tagTexts.length === 0 ? whose : `${whose} with ${tagTexts.join(' and ')}`;
}

/** `the operator ada`, `the command line on push-1`, `schedule 3`, `the bell alerts` */
export function formatCreator(creator: BroadcastCreator | undefined): string {
  if (creator === undefined) return notRecorded;
  if ('operator' in creator) return `the operator ${creator.operator}`;
  if ('commandLine' in creator) return `the command line on ${creator.commandLine}`;
  if ('schedule' in creator) return `schedule ${creator.schedule}`;
  if ('bell' in creator) return `the bell ${creator.bell}`;
  return `the application ${creator.application}`;
}

export const thisApplication = (): BroadcastCreator => ({ application: hostname() });

export const thisCommandLine = (): BroadcastCreator => ({ commandLine: hostname() });

const creatorChecks: OptionChecks<
  Record<'operator' | 'commandLine' | 'schedule' | 'bell' | 'application', unknown>
> = {
  operator: isText,
  commandLine: isText,
  schedule: isWholeNumber(1),
  bell: isText,
  application: isText,
};

/** In characters. */
const maxNameLength = 200;

/** @throws {DeskbellError} ERR_MESSAGE_INVALID */
export function checkCreator(creator: unknown, name: string): void {
  const code = 'ERR_MESSAGE_INVALID';
  checkOptions(creator, creatorChecks, { code, name });
  const [value, ...others] = Object.values(creator);
  if (value === undefined || others.length > 0)
    throw wrong(name, `must have one of ${Object.keys(creatorChecks).join(', ')}`, { code });
  if (typeof value !== 'string' || (value !== '' && value.length <= maxNameLength)) return;
  throw wrong(name, `must be a name of 1 to ${maxNameLength} characters`, { code });
}
