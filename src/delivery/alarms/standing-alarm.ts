// An alarm that stands: something is wrong now. What it is, since when, about how many, where it is cured, and who knows of it.
import { countOf } from '../../errors/format-count.ts';
import type { Acknowledgement } from '../../store/alarms.ts';
import type { InstallationWarning } from './installation-warnings.ts';

/** Conditions of the installation, of its work, and of push services. Alarms that broadcasts raise have their reason as kind. */
export const alarmKinds = [
  'sending-paused',
  'keys-missing',
  'clock-wrong',
  'no-worker',
  'broadcast-late',
  'schedule-late',
  'unreachable',
  'vapid-refused',
  'accepts-nothing',
  'all-gone',
  'deletions-held',
  'counts-differ',
] as const;

export type AlarmKind = (typeof alarmKinds)[number];

/** `InstallationWarning` has kinds of these. */
export type WarningKind = InstallationWarning['code'] & AlarmKind;

export interface StandingAlarm {
  /** The same as long as it stands: its kind and its push service. */
  readonly id: string;
  /** One of `alarmKinds`, or the reason of an alarm that broadcasts have raised. */
  readonly kind: string;
  /** Host or domain; empty if it is about no push service. */
  readonly pushService: string;
  /** One sentence. */
  readonly what: string;
  /** What to do; may be empty. */
  readonly remedy: string;
  /** A push service's or a resolver's own words; may be empty. */
  readonly detail: string;
  /** Absent if nobody has noted it. */
  readonly sinceMs: number | undefined;
  /** About how many: of several broadcasts with the same alarm, the largest number. */
  readonly count: number;
  readonly unit: 'message' | 'subscription' | 'broadcast' | 'schedule' | 'installation' | 'machine';
  /** There may be more than `count`. */
  readonly isAtLeast: boolean;
  /** Ascending. */
  readonly broadcastIds: readonly number[];
  /** Path of the console's page where it is cured. */
  readonly link: string;
  readonly acknowledgement: Acknowledgement | undefined;
}

/** A condition returns it in this form. */
export type FoundAlarm = Omit<
  StandingAlarm,
  'id' | 'acknowledgement' | 'detail' | 'isAtLeast' | 'broadcastIds' | 'pushService'
> &
  Partial<Pick<StandingAlarm, 'detail' | 'isAtLeast' | 'broadcastIds' | 'pushService'>>;

export function toStanding(found: FoundAlarm): StandingAlarm {
  const { kind, pushService = '' } = found;
  return {
    detail: '',
    isAtLeast: false,
    broadcastIds: [],
    ...found,
    id: pushService === '' ? kind : `${kind}:${pushService}`,
    pushService,
    acknowledgement: undefined,
  };
}

/** The longest note of an acknowledgement. */
export const maxNoteLength = 500;

/** A condition that has ended and begun again, or that concerns twice as many, is not what was acknowledged. */
export function isAcknowledged(
  { sinceMs = 0, count, broadcastIds }: StandingAlarm,
  acknowledgement: Acknowledgement,
): boolean {
  return (
    sinceMs <= acknowledgement.atMs &&
    !isTwice(count, acknowledgement.count) &&
    !isTwice(broadcastIds.length, acknowledgement.broadcasts)
  );
}

const isTwice = (now: number, then: number): boolean => now > then && now >= 2 * then;

/** `1,665 messages`, `50 broadcasts or more`; empty for the installation as a whole, and where nothing is counted. */
export function formatAlarmCount({ count, unit, isAtLeast }: StandingAlarm): string {
  if (unit === 'installation' || count === 0) return '';
  return countOf(count, unit) + (isAtLeast ? ' or more' : '');
}
