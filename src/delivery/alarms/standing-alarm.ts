// An active (*standing*) alarm: what is wrong, since when, how much is affected, where to fix it, and who
// acknowledged it.
import { countOf } from '../../errors/format-count.ts';
import type { Acknowledgement } from '../../store/alarms.ts';
import type { InstallationWarning } from './installation-warnings.ts';

/** Conditions of the installation, its work and its push services. An alarm that broadcasts raised has its reason as kind. */
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

/** These conditions affect every broadcast that is not over. */
export const installationKinds: ReadonlySet<string> = new Set<AlarmKind>([
  'store-failed',
  'keys-missing',
  'clock-wrong',
  'no-worker',
]);

/** The kinds that `InstallationWarning` can have. */
export type WarningKind = InstallationWarning['code'] & AlarmKind;

/**
 * `urgent`: something is not sent or stored until somebody acts; only these should page people. `soon`: somebody must
 * decide on the same day. `note`: affects messages that nobody can help now.
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

/** Returns the rank of an alarm's kind, or of the reason for which a broadcast raised it. */
export const rankOf = (kind: string): AlarmRank => (isAlarmKind(kind) ? ranks[kind] : 'note');

export interface StandingAlarm {
  /** Made of kind and push service; stays the same while the alarm is active. */
  readonly id: string;
  /** One of `alarmKinds`, or the reason of an alarm that broadcasts raised. */
  readonly kind: string;
  readonly rank: AlarmRank;
  /** Host or domain; empty if the alarm is not about a push service. */
  readonly pushService: string;
  /** One sentence. */
  readonly what: string;
  /** What to do; may be empty. */
  readonly remedy: string;
  /** The explanation of the push service or the resolver; may be empty. */
  readonly detail: string;
  /** Absent if the time is unknown. */
  readonly sinceMs: number | undefined;
  /** An estimate. If several broadcasts raised the alarm, the largest of their numbers. */
  readonly count: number;
  readonly unit: 'message' | 'subscription' | 'broadcast' | 'schedule' | 'installation' | 'machine';
  /** True if the real number may be larger than `count`. */
  readonly isAtLeast: boolean;
  /** In ascending order. */
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

/** Formats the count, such as `1,665 messages` or `50 broadcasts or more`; empty if nothing is counted. */
export function formatAlarmCount({ count, unit, isAtLeast }: StandingAlarm): string {
  if (unit === 'installation' || count === 0) return '';
  return countOf(count, unit) + (isAtLeast ? ' or more' : '');
}
