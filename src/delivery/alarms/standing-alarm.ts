// An active (*standing*) alarm: what is wrong, since when, how much is affected, the remedy, and who acknowledged it.
import { countOf } from '../../errors/format-count.ts';
import type { Acknowledgement } from '../../store/alarms.ts';
import type { KnownReason } from '../broadcast/meanings.ts';
import type { InstallationWarning } from './installation-warnings.ts';

/**
 * `urgent`: something is not sent or stored until somebody acts; page people only for these. `soon`: somebody must
 * decide on the same day. `note`: affects messages for which nothing more can be done.
 */
export const alarmRanks = ['urgent', 'soon', 'note'] as const;

export type AlarmRank = (typeof alarmRanks)[number];

/** Conditions of the installation, its work and its push services. `readAlarms` checks them. */
const conditions = {
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
} as const satisfies Readonly<Record<string, AlarmRank>>;

export type AlarmKind = keyof typeof conditions;

export const alarmKinds = Object.keys(conditions) as readonly AlarmKind[];

/**
 * The rank of each kind of alarm, and of each reason why a broadcast raises an alarm. No such reason is urgent, because
 * an unlisted host can cause most of them. Urgent problems also raise `unreachable` or `accepts-nothing`.
 */
const ranks: Readonly<Record<AlarmKind | KnownReason, AlarmRank>> = {
  ...conditions,
  // somebody must change a setting, report a fault or send again
  'not-listed': 'soon',
  'address-blocked': 'soon',
  'sender-fault': 'soon',
  'protocol-error': 'soon',
  connection: 'soon',
  'expired-unsent': 'soon',
  // the push service refused the message
  'bad-request': 'note',
  'bad-encryption': 'note',
  'bad-ttl': 'note',
  'bad-topic': 'note',
  'bad-urgency': 'note',
  'cache-policy': 'note',
  'payload-too-large': 'note',
  'vapid-key-mismatch': 'note',
  dropped: 'note',
  redirected: 'note',
  'no-value': 'note',
  'unexpected-status': 'note',
  // Deskbell tries again by itself
  throttled: 'note',
  'server-error': 'note',
  'not-handled': 'note',
  deferred: 'note',
};

/** @param kind the kind of an alarm, or the reason why a broadcast raised it @returns the rank. Default: `note` */
export const rankOf = (kind: string): AlarmRank =>
  Object.hasOwn(ranks, kind) ? ranks[kind as KnownReason] : 'note';

/** Kinds of alarms that affect every broadcast that is not over. */
export const installationKinds: ReadonlySet<string> = new Set<AlarmKind>([
  'store-failed',
  'keys-missing',
  'clock-wrong',
  'no-worker',
]);

/** The kinds of alarms that are made from an `InstallationWarning`. */
export type WarningKind = InstallationWarning['code'] & AlarmKind;

/** Kinds of alarms that a process raises from its own checks, so other processes may not have the same alarms. */
export const localKinds: ReadonlySet<string> = new Set<WarningKind>(['store-failed', 'keys-missing']);

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
 * False if the condition has ended and begun again, or if the alarm's count or number of broadcasts has doubled. For
 * `localKinds`, also false after an hour.
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
