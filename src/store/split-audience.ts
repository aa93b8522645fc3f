// Splits an audience into groups of readers who get the same text at the same time. Readers who get nothing form one
// group for each reason, such as a channel they turned off. The ids of each group are stored in separate sets, so a
// reader whose group changes in the meantime still gets exactly one message.
import { toWallTime } from '../audience/zone-time.ts';
import { chooseLanguage } from '../protocol/language.ts';
import type { MemberSet } from './slices.ts';
import { createReaderTimes, zoneOf, type ReaderTime, type TimeOptions } from './reader-times.ts';

/** How to split an audience. Stored as JSON while the audience is prepared. */
export interface AudienceSplit {
  /** Leaves out readers who turned this channel off. */
  readonly channel?: ChannelDefault | undefined;
  /** Leaves out readers who clicked on none of the last `skipInactive` broadcasts shown to them (`receipts.ts`). */
  readonly skipInactive?: number | undefined;
  /** The languages of the texts. */
  readonly languages: readonly string[];
  /** Absent if all readers get the message at once. */
  readonly times?: TimeOptions | undefined;
}

export interface ChannelDefault {
  readonly name: string;
  readonly isOnByDefault: boolean;
}

/** Members of a set who get the same message at the same time. */
export interface ReadersOfSet {
  readonly language: string | undefined;
  readonly timeZone: string | undefined;
  /** 0 if the readers get the message; otherwise, why they do not. */
  readonly leftOut: 0 | LeftOutCode;
  readonly ids: readonly number[];
}

/** Why a reader is left out, as stored with the set. */
export const leftOutCodes = { inactive: 1, channelOff: 2, timePassed: 3 } as const;

export type LeftOut = keyof typeof leftOutCodes;

type LeftOutCode = (typeof leftOutCodes)[LeftOut];

/** @param code not 0 */
export const reasonOf = (code: number): LeftOut =>
  (Object.keys(leftOutCodes) as LeftOut[]).find((reason) => leftOutCodes[reason] === code)!;

export interface ReaderFinder {
  /**
   * Returns the stored members of a set in one query, grouped by current language, time zone, and whether they turned
   * the channel off or are inactive.
   */
  readersOf(
    set: MemberSet,
    split: Pick<AudienceSplit, 'channel' | 'skipInactive'>,
  ): Promise<readonly ReadersOfSet[]>;
  /** Distributes the members of the given sets over new sets of about `sliceRows` members each. */
  joinSets(sets: readonly MemberSet[], sliceRows: number): readonly MemberSet[];
}

/** What all readers in a set have in common. */
export interface ReaderGroup {
  /** The language of the text. If absent, the readers get the message's own text. */
  readonly language?: string | undefined;
  /** The time zone that decides when the message is sent. Absent if it is the broadcast's own or does not matter. */
  readonly timeZone?: string | undefined;
  readonly time?: ReaderTime | undefined;
  /** Set if these readers get no message: the reason. Their ids are stored nevertheless. */
  readonly leftOut?: LeftOutCode;
}

const leftOutGroups: Readonly<Record<LeftOutCode, ReaderGroup>> = {
  1: { leftOut: 1 },
  2: { leftOut: 2 },
  3: { leftOut: 3 },
};

/** Splits an audience into sets by text and time. Readers who get no message are in separate sets. */
export async function splitSets(
  finder: ReaderFinder,
  split: AudienceSplit,
  sets: readonly MemberSet[],
  sliceRows: number,
): Promise<readonly (MemberSet & ReaderGroup)[]> {
  const groupOf = createGroups(split);
  const groups = new Map<ReaderGroup, MemberSet[]>();
  for (const set of sets) {
    for (const { language, timeZone, leftOut, ids } of await finder.readersOf(set, split)) {
      const group =
        leftOut === 0
          ? (groupOf(language, timeZone) ?? leftOutGroups[leftOutCodes.timePassed])
          : leftOutGroups[leftOut];
      const members = groups.get(group) ?? [];
      groups.set(group, members);
      members.push({ partition: set.partition, ids });
    }
  }
  return [...groups].flatMap(([group, members]) =>
    finder.joinSets(members, sliceRows).map((set) => ({ ...set, ...group })),
  );
}

/** @returns a function that finds a reader's group by text and time; `undefined` for readers who are left out */
export function createGroups({
  languages,
  times,
}: AudienceSplit): (language: string | undefined, timeZone: string | undefined) => ReaderGroup | undefined {
  const available = new Set(languages);
  const groups = new Map<string, ReaderGroup>();
  const zones = new Map<string | undefined, ZoneGroup | undefined>();
  const zoneGroup = times === undefined ? () => everywhere : createZoneGroups(times);
  return (language, timeZone) => {
    if (!zones.has(timeZone)) zones.set(timeZone, zoneGroup(timeZone));
    const zone = zones.get(timeZone);
    if (zone === undefined) return undefined;
    const text = chooseLanguage(language, available);
    const key = JSON.stringify([text, zone]);
    const group = groups.get(key) ?? { ...zone, language: text };
    groups.set(key, group);
    return group;
  };
}

type ZoneGroup = Pick<ReaderGroup, 'timeZone' | 'time'>;

const everywhere: ZoneGroup = {};

/** Groups time zones whose clocks agree at both ends of the period in which the message can be sent. */
function createZoneGroups(
  times: NonNullable<AudienceSplit['times']>,
): (timeZone: string | undefined) => ZoneGroup | undefined {
  const timeOf = createReaderTimes(times);
  const alike = new Map<string, ZoneGroup>();
  return (given) => {
    const timeZone = zoneOf(times, given);
    const time = timeOf(timeZone);
    if (time.isPassed && times.ifTimePassed === 'skip') return undefined;
    const ends = [time.fromMs, time.expiresAtMs];
    const key = JSON.stringify([ends, ends.map((atMs) => toWallTime(atMs, timeZone))]);
    const group = alike.get(key) ?? { timeZone, time };
    alike.set(key, group);
    return group;
  };
}
