// An alarm that stands: what is wrong, since when, about how many, where to fix it, and who has acknowledged it.
import { countOf } from '../../errors/format-count.ts';
import type { Acknowledgement } from '../../store/alarms.ts';
import type { InstallationWarning } from './installation-warnings.ts';

/** Conditions of the installation, its work and its push services. For alarms raised by broadcasts, the reason is the kind. */
export const alarmKinds = [
  'store-failed',
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
  'many-ended',
  'deletions-held',
  'counts-differ',
  'chrome-limit',
] as const;

export type AlarmKind = (typeof alarmKinds)[number];

/** They concern every broadcast that is not over. */
export const installationKinds: ReadonlySet<string> = new Set<AlarmKind>([
  'store-failed',
  'keys-missing',
  'clock-wrong',
  'no-worker',
]);

/** `InstallationWarning` has kinds of these. */
export type WarningKind = InstallationWarning['code'] & AlarmKind;

/**
 * `urgent`: nothing of something is sent or stored until somebody acts; only these page. `soon`: somebody must decide, on the same day.
 * `note`: messages that nobody can mend now.
 */
export const alarmRanks = ['urgent', 'soon', 'note'] as const;

export type AlarmRank = (typeof alarmRanks)[number];

const ranks: Readonly<Record<AlarmKind, AlarmRank>> = {
  'store-failed': 'urgent',
  'sending-paused': 'soon',
  'keys-missing': 'urgent',
  'clock-wrong': 'urgent',
  'no-worker': 'urgent',
  'broadcast-late': 'soon',
  'schedule-late': 'urgent',
  unreachable: 'urgent',
  'vapid-refused': 'urgent',
  'accepts-nothing': 'urgent',
  'all-gone': 'soon',
  'many-ended': 'note',
  'deletions-held': 'soon',
  'counts-differ': 'soon',
  'chrome-limit': 'soon',
};

const isAlarmKind = (kind: string): kind is AlarmKind => Object.hasOwn(ranks, kind);

/** The rank of an alarm, or of a reason for which a broadcast raised one. */
export const rankOf = (kind: string): AlarmRank => (isAlarmKind(kind) ? ranks[kind] : 'note');

export interface StandingAlarm {
  /** Kind and push service; constant as long as the alarm stands. */
  readonly id: string;
  /** One of `alarmKinds`, or the reason of an alarm that broadcasts raised. */
  readonly kind: string;
  readonly rank: AlarmRank;
  /** Host or domain; empty if it is about no push service. */
  readonly pushService: string;
  /** One sentence. */
  readonly what: string;
  /** What to do; may be empty. */
  readonly remedy: string;
  /** A push service's or a resolver's own words; may be empty. */
  readonly detail: string;
  /** Absent if no time was recorded. */
  readonly sinceMs: number | undefined;
  /** An estimate: if several broadcasts have the same alarm, the largest number. */
  readonly count: number;
  readonly unit: 'message' | 'subscription' | 'broadcast' | 'schedule' | 'installation' | 'machine';
  /** The real number may be larger than `count`. */
  readonly isAtLeast: boolean;
  /** Ascending. */
  readonly broadcastIds: readonly number[];
  /** Path of the console page where it can be fixed. */
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

/** False if the condition has ended and begun again, or if its count or its number of broadcasts has doubled. */
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

/** `1,665 messages`, `50 broadcasts or more`; empty if nothing is counted */
export function formatAlarmCount({ count, unit, isAtLeast }: StandingAlarm): string {
  if (unit === 'installation' || count === 0) return '';
  return countOf(count, unit) + (isAtLeast ? ' or more' : '');
}
