// An active (*standing*) alarm: what is wrong, since when, how much is affected, the remedy, and who acknowledged it.
import { countOf } from '../../errors/format-count.ts';
import type { Acknowledgement } from '../../store/alarms.ts';
import { type AlarmRank, localKinds, rankOf } from './alarm-kinds.ts';

/** How long an acknowledgement of `localKinds` lasts. No process knows when the condition has ended everywhere. */
const localKnownMs = 60 * 60 * 1000;

export const alarmUnits = [
  'message',
  'subscription',
  'broadcast',
  'schedule',
  'installation',
  'machine',
] as const;

export interface StandingAlarm {
  /** The alarm's kind and push service as one text, which stays the same while the alarm is active. */
  readonly id: string;
  /** One of `alarmKinds`, or the reason of an alarm that a broadcast raised. */
  readonly kind: string;
  readonly rank: AlarmRank;
  /** Host or domain; empty if the alarm is not about a push service. */
  readonly pushService: string;
  /** The problem in one sentence. */
  readonly what: string;
  /** The remedy; may be empty. */
  readonly remedy: string;
  /** The explanation that the push service or the resolver gave; may be empty. */
  readonly detail: string;
  /** When the problem began; `undefined` if that is unknown. */
  readonly sinceMs: number | undefined;
  /** An estimate. If several broadcasts raised the alarm, this is their largest count. */
  readonly count: number;
  readonly unit: (typeof alarmUnits)[number];
  /** True if the actual number may be larger than `count`. */
  readonly isAtLeast: boolean;
  /** The ids, in ascending order. */
  readonly broadcastIds: readonly number[];
  /** Path of the console page where the problem can be fixed. */
  readonly link: string;
  readonly acknowledgement: Acknowledgement | undefined;
}

export type FoundAlarm = Omit<
  StandingAlarm,
  'id' | 'rank' | 'acknowledgement' | 'detail' | 'isAtLeast' | 'broadcastIds' | 'pushService'
> &
  Partial<Pick<StandingAlarm, 'detail' | 'isAtLeast' | 'broadcastIds' | 'pushService'>>;

export function toStanding(found: FoundAlarm): StandingAlarm {
  const { kind, pushService = '' } = found;
  return {
    detail: '',
    isAtLeast: false,
    broadcastIds: [],
    ...found,
    rank: rankOf(kind),
    id: pushService === '' ? kind : `${kind}:${pushService}`,
    pushService,
    acknowledgement: undefined,
  };
}

export const maxNoteLength = 500;

/**
 * False if the alarm has changed since it was acknowledged: it ended and began again, or its count or number of
 * broadcasts has doubled. For `localKinds`, also false after an hour.
 */
export function isAcknowledged(
  { kind, sinceMs = 0, count, broadcastIds }: StandingAlarm,
  acknowledgement: Acknowledgement,
  nowMs: number,
): boolean {
  return (
    sinceMs <= acknowledgement.atMs &&
    (!localKinds.has(kind) || nowMs < acknowledgement.atMs + localKnownMs) &&
    !isTwice(count, acknowledgement.count) &&
    !isTwice(broadcastIds.length, acknowledgement.broadcasts)
  );
}

const isTwice = (now: number, then: number): boolean => now > then && now >= 2 * then;

/** Formats the count, such as `1,665 messages` or `50 broadcasts or more`; empty if nothing is counted. */
export function formatAlarmCount({ count, unit, isAtLeast }: StandingAlarm): string {
  if (unit === 'installation' || count === 0) return '';
  return countOf(count, unit) + (isAtLeast ? ' or more' : '');
}
