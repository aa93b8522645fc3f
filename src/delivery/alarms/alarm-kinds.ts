// The kinds of alarms, and the rank of each kind.
import type { KnownReason } from '../broadcast/meanings.ts';
import type { InstallationWarning } from './installation-warnings.ts';

/**
 * `urgent`: something is not sent or stored until somebody acts; page people only for these. `soon`: somebody must
 * decide on the same day. `note`: affects messages for which nothing more can be done.
 */
export const alarmRanks = ['urgent', 'soon', 'note'] as const;

export type AlarmRank = (typeof alarmRanks)[number];

/** The ranks of alarms about the installation, late work and push services. `readAlarms` looks for these alarms. */
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
 * The rank of each kind of alarm, and of each reason for which a broadcast raises an alarm. None of the reasons is
 * urgent, because a single unlisted host can cause most of these alarms. If the problem is urgent, `unreachable` or
 * `accepts-nothing` is raised too.
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

/**
 * @param kind an alarm's kind, or the reason for which a broadcast raised the alarm
 * @returns the rank; `note` if the kind is unknown
 */
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
