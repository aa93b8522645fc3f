// Options that make a broadcast differ by reader: channel, texts by language, placeholders, local times and quiet
// hours. Checks them and converts them to their stored form.
import { checkKnown } from '../../audience/channels.ts';
import { formatWallTime, nextTimeOfDay, parseTimeOfDay, parseWallTime } from '../../audience/zone-time.ts';
import { wrong } from '../../errors/check-options.ts';
import { fieldError } from '../../errors/deskbell-error.ts';
import type { EncodedMessage } from '../../protocol/message/encode-payload.ts';
import { memberError } from '../../protocol/message/value-schema.ts';
import { createTemplate, type Placeholder } from '../../protocol/message/placeholders.ts';
import { defaultTtlSeconds } from '../../protocol/request.ts';
import type { Broadcast } from '../../store/broadcasts.ts';
import type { DeliveryOptions } from '../../store/delivery-options.ts';
import { createReaderTimes, hasReaderTimes } from '../../store/reader-times.ts';
import type { AudienceSplit } from '../../store/split-audience.ts';
import type { Store } from '../../store/store.ts';
import { type Audience, isExpression } from './audience.ts';

const code = 'ERR_MESSAGE_INVALID';
/** The last time zone reaches a given local time this long after UTC. */
const lastZoneMs = 12 * 60 * 60 * 1000;
/** A message sent later could expire after the year 9999, but ISO 8601 writes years with four digits. */
export const startsBeforeMs = Date.UTC(9999, 0);

/**
 * Checks options that depend on each other.
 *
 * @param isRecurring the options belong to a schedule, so `localTime` must have no date
 * @throws {DeskbellError} ERR_MESSAGE_INVALID
 */
export function checkReaderOptions(
  { localTime, ifTimePassed }: DeliveryOptions,
  nowMs: number,
  isRecurring = false,
): void {
  if (localTime === undefined) {
    if (ifTimePassed !== undefined)
      throw fieldError(code, '/ifTimePassed', '"ifTimePassed" goes with localTime.');
    return;
  }
  const wallMs = parseWallTime(localTime);
  if (wallMs === undefined) return;
  if (isRecurring)
    throw fieldError(
      code,
      '/localTime',
      '"localTime" must be a time of day, such as 09:00, where the broadcast recurs.',
    );
  if (wallMs + lastZoneMs < nowMs)
    throw fieldError(code, '/localTime', '"localTime" is over in all time zones; give a time to come.');
  if (wallMs >= startsBeforeMs)
    throw fieldError(code, '/localTime', '"localTime" is too late; give a time before the year 9999.');
}

interface ReaderPlan<Options extends DeliveryOptions> {
  /** The options, with date and time zone added if an option depends on the reader's local time. */
  readonly resolved: Options;
  /** How to split an audience of stored subscriptions; undefined if all readers get the same message at once. */
  readonly split?: AudienceSplit | undefined;
  /** When subscriptions that are not stored get the message, if the options determine that. */
  readonly timesOfList?: Pick<Broadcast, 'startAtMs' | 'expiresAtMs'> | undefined;
}

/**
 * Determines which readers get which text at which time.
 *
 * @param fromMs a `localTime` without a date means its first occurrence from this time on
 * @throws {DeskbellError} ERR_CHANNEL_NOT_FOUND, ERR_PLACEHOLDER_VALUE, ERR_PAYLOAD_TOO_LARGE, and ERR_MESSAGE_INVALID
 *   if nobody would get the message
 */
export async function planReaders<Options extends DeliveryOptions>(
  audience: Audience,
  encoded: EncodedMessage,
  options: Options,
  startAtMs: number,
  fromMs: number,
  store: Pick<Store, 'channels' | 'readers'>,
): Promise<ReaderPlan<Options>> {
  const { channel, ttlSeconds = defaultTtlSeconds } = options;
  const resolved = resolveTimes(options, fromMs);
  const split = toSplit(encoded, await findChannel(channel, store), { ...resolved, startAtMs, ttlSeconds });
  const user = isExpression(audience) && 'user' in audience ? audience.user : undefined;
  await checkPlaceholders(encoded, user, store);
  if (typeof audience === 'string' || !('subscriptions' in audience)) return { resolved, split };
  return { resolved, timesOfList: split && findTimesOfList(split) };
}

function resolveTimes<Options extends DeliveryOptions>(options: Options, fromMs: number): Options {
  if (!hasReaderTimes(options)) return options;
  const { localTime, timeZone = 'UTC' } = options;
  const timeOfDay = localTime === undefined ? undefined : parseTimeOfDay(localTime);
  if (timeOfDay === undefined) return { ...options, timeZone };
  return { ...options, timeZone, localTime: formatWallTime(nextTimeOfDay(timeOfDay, timeZone, fromMs)) };
}

/** @throws {DeskbellError} ERR_CHANNEL_NOT_FOUND */
export async function findChannel(
  name: string | undefined,
  { channels }: Pick<Store, 'channels'>,
): Promise<AudienceSplit['channel']> {
  if (name === undefined) return undefined;
  const known = await channels.list();
  checkKnown(name, known, '/channel');
  return known.find((channel) => channel.name === name);
}

function toSplit(
  { texts }: EncodedMessage,
  channel: AudienceSplit['channel'],
  options: NonNullable<AudienceSplit['times']> & Pick<AudienceSplit, 'skipInactive'>,
): AudienceSplit | undefined {
  const { localTime, quietHours, timeZone, ifTimePassed, startAtMs, ttlSeconds, skipInactive } = options;
  const times = hasReaderTimes(options)
    ? { localTime, quietHours, timeZone, ifTimePassed, startAtMs, ttlSeconds }
    : undefined;
  if ((channel ?? times ?? skipInactive) === undefined && texts.size === 0) return undefined;
  return {
    channel: channel && { name: channel.name, isOnByDefault: channel.isOnByDefault },
    skipInactive,
    languages: [...texts.keys()],
    times,
  };
}

/** All given subscriptions get the message at the same time, because nothing is known about their readers. */
function findTimesOfList({ channel, times }: AudienceSplit): ReaderPlan<DeliveryOptions>['timesOfList'] {
  if (channel?.isOnByDefault === false) {
    const fault = `is off by default, and nothing is known of the readers of given subscriptions: nobody would get it`;
    throw wrong('channel', fault, { code });
  }
  if (times === undefined) return undefined;
  const { fromMs, expiresAtMs, isPassed } = createReaderTimes(times)(undefined);
  if (isPassed && times.ifTimePassed === 'skip')
    throw wrong('localTime', 'is over in the time zone of the broadcast: nobody would get it', { code });
  return { startAtMs: fromMs, expiresAtMs };
}

/**
 * Checks that each placeholder can be filled. A placeholder without a default is allowed only in a message to one
 * person who has the value.
 */
async function checkPlaceholders(
  { payload, texts, placeholders }: EncodedMessage,
  user: string | undefined,
  { readers }: Pick<Store, 'readers'>,
): Promise<void> {
  if (user === undefined) return requireDefaults(placeholders);
  if (placeholders.length === 0) return;
  const { data } = await readers.person(user);
  createTemplate(payload).fill(data);
  // the text of a language replaces only some members of `payload`; the line above has checked the others
  for (const [language, text] of texts)
    createTemplate(text, (member) => `texts.${language}.${member}`).fill(data);
}

/** @throws {DeskbellError} ERR_PLACEHOLDER_VALUE */
export function requireDefaults(placeholders: readonly Placeholder[]): void {
  const lacking = placeholders.find(({ hasDefault }) => !hasDefault);
  if (lacking === undefined) return;
  const { name, member } = lacking;
  throw memberError(
    'ERR_PLACEHOLDER_VALUE',
    member,
    `The placeholder {${name}} in ${member} of the message has no default. Give one, such as {${name}|there}: only a message to one person, from somebody who may see that person’s data, needs none.`,
  );
}
