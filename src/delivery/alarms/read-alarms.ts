// Reads all alarms that are active now. An alarm is active as long as its condition lasts. Console, API, commands and
// metrics all use this.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import {
  type Acknowledgement,
  type DueWork,
  maxDue,
  type RaisedAlarm,
  type TokenAnswers,
} from '../../store/alarms.ts';
import { heldDeletionsReason } from '../../store/held-deletions.ts';
import type { SendingPause, StoredSenderReport } from '../../store/sending.ts';
import type { Store } from '../../store/store.ts';
import { meaningOf } from '../broadcast/meanings.ts';
import { explainPause, type InstallationWarning, type ReadWarnings } from './installation-warnings.ts';
import {
  findManyEnded,
  findUnanimous,
  heldAlarms,
  judgedMs,
  shareAlarms,
  suspendedSince,
  unreachableAlarms,
  vapidRefusedReason,
} from './push-service-conditions.ts';
import {
  alarmRanks,
  type FoundAlarm,
  isAcknowledged,
  localKinds,
  type StandingAlarm,
  toStanding,
  type WarningKind,
} from './standing-alarm.ts';

export interface Alarms {
  /** Unacknowledged alarms come first, then higher ranks before lower ones. */
  readonly standing: readonly StandingAlarm[];
  readonly lateness: Lateness;
}

export type AlarmSources = Pick<
  Store,
  'alarms' | 'heldDeletions' | 'senders' | 'sending' | 'statistics' | 'unlisted' | 'now'
>;

/** Checks all conditions. Removes acknowledgements of alarms that ended or became worse, except for `localKinds`. */
export async function readAlarms(store: AlarmSources, readWarnings: ReadWarnings): Promise<Alarms> {
  const nowMs = store.now();
  const [warnings, due, senders, held, raised, tokenAnswers, intervals, acknowledgements] = await Promise.all(
    [
      readWarnings(),
      store.alarms.dueWork(),
      store.senders.list(),
      store.heldDeletions.list(),
      store.alarms.raised(),
      store.alarms.tokenAnswers(),
      store.statistics.outcomes({ width: 'coarse', sinceMs: nowMs - judgedMs }),
      store.alarms.acknowledgements(),
    ],
  );
  const pause = warnings.some(({ code }) => code === 'sending-paused')
    ? await store.sending.findPause()
    : undefined;
  const work = findLateWork(due, senders, nowMs);
  const suspended = suspendedSince(tokenAnswers);
  const named = new Set([...held.map(({ origin }) => origin), ...suspended.keys()].map(pushServiceName));
  const ofBroadcasts = raised.filter((alarm) => stillStands(alarm, tokenAnswers)).map(fromRaised);
  const found = [
    ...warnings.map((warning) => fromWarning(warning, pause)),
    ...work.alarms,
    ...unreachableAlarms(senders),
    ...refusedTokens(suspended, raised),
    ...findUnanimous(intervals, (name) => named.has(name)),
    ...findManyEnded(intervals).filter(({ pushService = '' }) => !named.has(pushService)),
    ...heldAlarms(held, raised),
    ...ofBroadcasts,
  ];
  const names = new Set(found.map(({ pushService = '' }) => pushService).filter((name) => name !== ''));
  const unlisted = await store.unlisted.among([...names].map((name) => `https://${name}`));
  const standing = shareAlarms(found, new Set(unlisted.map(pushServiceName))).map(toStanding);

  const known = new Map(acknowledgements.map((acknowledgement) => [acknowledgement.alarm, acknowledgement]));
  const alarms = standing.map((alarm) => {
    const acknowledgement = known.get(alarm.id);
    if (acknowledgement === undefined || !isAcknowledged(alarm, acknowledgement, nowMs)) return alarm;
    known.delete(alarm.id);
    return { ...alarm, acknowledgement };
  });
  const ended = [...known.values()].filter(({ alarm }) => !localKinds.has(alarm));
  if (ended.length > 0) await endAcknowledgements(store, ended);
  return {
    standing: alarms.toSorted((one, other) => placeOf(one) - placeOf(other)),
    lateness: work.lateness,
  };
}

/** Removes acknowledgements. If the store cannot be written now, a later call removes them. */
async function endAcknowledgements(
  { alarms }: AlarmSources,
  ended: readonly Acknowledgement[],
): Promise<void> {
  try {
    await alarms.endAcknowledgements(ended);
  } catch (error) {
    if (!(error instanceof DeskbellError && error.code === 'ERR_STORE_UNAVAILABLE')) throw error;
  }
}

const placeOf = ({ acknowledgement, rank }: StandingAlarm): number =>
  alarmRanks.indexOf(rank) + (acknowledgement === undefined ? 0 : alarmRanks.length);

/** @throws {DeskbellError} ERR_ALARM_NOT_FOUND if no active alarm has this id */
export async function findAlarm(
  store: AlarmSources,
  readWarnings: ReadWarnings,
  id: string,
): Promise<StandingAlarm> {
  const { standing } = await readAlarms(store, readWarnings);
  const found = standing.find((alarm) => alarm.id === id);
  if (found !== undefined) return found;
  throw new DeskbellError('ERR_ALARM_NOT_FOUND', `No alarm ${JSON.stringify(id)} stands.`);
}

/**
 * Records that an operator knows about an alarm.
 *
 * @param acknowledgement `note`: up to `maxNoteLength` characters
 * @throws {DeskbellError} ERR_ALARM_NOT_FOUND if no active alarm has this id
 */
export async function acknowledgeAlarm(
  store: AlarmSources,
  readWarnings: ReadWarnings,
  { id, operator, note }: { readonly id: string; readonly operator: string; readonly note: string },
): Promise<StandingAlarm> {
  const { count, broadcastIds } = await findAlarm(store, readWarnings, id);
  await store.alarms.acknowledge({ alarm: id, operator, note, count, broadcasts: broadcastIds.length });
  return findAlarm(store, readWarnings, id);
}

const warningTexts = {
  'store-failed': { what: 'The database cannot be written', link: '/console/' },
  'sending-paused': { what: 'Sending is paused', link: '/console/broadcasts' },
  'keys-missing': { what: 'A private key is missing', link: '/console/keys' },
  'clock-wrong': { what: 'The clock is wrong', link: '/console/push-services' },
} as const satisfies Record<WarningKind, { readonly what: string; readonly link: string }>;

const fromWarning = (
  { code, detail, remedy }: InstallationWarning,
  pause: SendingPause | undefined,
): FoundAlarm => {
  const found = { kind: code, ...warningTexts[code] };
  if (code !== 'sending-paused' || pause === undefined) {
    return {
      ...found,
      remedy: `${detail} ${remedy}`,
      sinceMs: undefined,
      count: 1,
      unit: 'installation',
    };
  }
  const { sinceMs, broadcastIds } = pause;
  return {
    ...found,
    remedy: `${explainPause(pause)} ${remedy}`,
    sinceMs,
    count: broadcastIds.length,
    unit: 'broadcast',
    broadcastIds,
  };
};

/**
 * Makes alarms for refused tokens, with details from the affected broadcasts.
 *
 * @param suspended when each push service began to refuse our token for all messages
 */
const refusedTokens = (
  suspended: ReadonlyMap<string, number>,
  raised: readonly RaisedAlarm[],
): readonly FoundAlarm[] =>
  [...suspended].map(([origin, sinceMs]) => {
    const met = raised.find((alarm) => alarm.origin === origin && alarm.reason === vapidRefusedReason);
    const { rows = 0, detail = '', broadcastIds = [] } = met ?? {};
    return fromRaised({ origin, reason: vapidRefusedReason, detail, sinceMs, rows, broadcastIds });
  });

/** False if a later response has ended the alarm of a broadcast, or if a condition reports the same problem. */
function stillStands({ origin, reason, sinceMs }: RaisedAlarm, answers: readonly TokenAnswers[]): boolean {
  // the alarms `deletions-held` and `unreachable` cover these reasons
  if (reason === heldDeletionsReason || reason === 'connection') return false;
  if (reason !== vapidRefusedReason) return true;
  return !answers.some(
    (answer) =>
      answer.origin === origin && (answer.suspendedSinceMs !== undefined || answer.acceptedAtMs > sinceMs),
  );
}

function fromRaised({ origin, reason, detail, sinceMs, rows, broadcastIds }: RaisedAlarm): FoundAlarm {
  const { meaning, remedy } = meaningOf(reason);
  const pushService = pushServiceName(origin);
  const what = meaning || `Messages were not accepted: ${reason}.`;
  const newest = reason === vapidRefusedReason ? undefined : broadcastIds.at(-1);
  const isOfBroadcast = broadcastIds.length === 1 || origin === '';
  return {
    kind: reason,
    pushService,
    what: pushService === '' ? what : `${pushService}: ${what}`,
    remedy,
    // without a push service, the detail would only repeat the alarm's other texts
    detail: origin === '' ? '' : detail,
    sinceMs,
    count: rows,
    unit: 'message',
    broadcastIds,
    link: isOfBroadcast && newest !== undefined ? `/console/broadcasts/${newest}` : '/console/push-services',
  };
}

/** Work normally begins within seconds of the time it is due. After this delay, the work counts as late. */
export const lateAfterMs = 60_000;

/** How long the oldest work has been due, in milliseconds; 0 if nothing is late. */
interface Lateness {
  readonly broadcastMs: number;
  readonly scheduleMs: number;
}

/**
 * @param senders the senders that could deliver
 * @param nowMs the time by the store's clock
 */
export function findLateWork(
  { broadcasts, schedules, lastSentAtMs }: DueWork,
  senders: readonly StoredSenderReport[],
  nowMs: number,
): { readonly alarms: readonly FoundAlarm[]; readonly lateness: Lateness } {
  const hasWorker = senders.some(({ kind }) => kind === 'worker');
  // broadcasts that have begun wait only if there is no worker, and only since the last message was sent
  const waiting = broadcasts
    .filter(({ hasBegun }) => !hasWorker || !hasBegun)
    .map((due) => (hasWorker ? due : { ...due, sinceMs: Math.max(due.sinceMs, lastSentAtMs) }));
  const late = waiting.filter(({ sinceMs }) => sinceMs <= nowMs - lateAfterMs);
  const lateSchedules = schedules.filter(({ sinceMs }) => sinceMs <= nowMs - lateAfterMs);
  const lateness = {
    broadcastMs: latenessOf(late, nowMs),
    scheduleMs: latenessOf(lateSchedules, nowMs),
  };
  if (late.length + lateSchedules.length === 0) return { alarms: [], lateness };
  if (!hasWorker) return { alarms: [noWorker(late, lateSchedules)], lateness };
  return {
    alarms: [
      ...(late.length > 0 ? [broadcastLate(late)] : []),
      ...(lateSchedules.length > 0 ? [scheduleLate(lateSchedules)] : []),
    ],
    lateness,
  };
}

interface Due {
  readonly id: number;
  readonly sinceMs: number;
}

const earliest = (due: readonly Due[]): number => Math.min(...due.map(({ sinceMs }) => sinceMs));

const latenessOf = (late: readonly Due[], nowMs: number): number =>
  late.length === 0 ? 0 : nowMs - earliest(late);

const idsOf = (due: readonly Due[]): readonly number[] =>
  due.map(({ id }) => id).toSorted((one, other) => one - other);

const namesOf = (due: readonly Due[]): string => idsOf(due).slice(0, 5).join(', ');

function noWorker(broadcasts: readonly Due[], schedules: readonly Due[]): FoundAlarm {
  const ofSchedules = broadcasts.length === 0;
  return {
    kind: 'no-worker',
    what: ofSchedules
      ? 'No worker is running, and a schedule is due'
      : 'No worker is running, and broadcasts are due',
    remedy: 'Start "deskbell worker" or "deskbell serve --deliver"; its log says why it has ended.',
    sinceMs: earliest([...broadcasts, ...schedules]),
    ...(ofSchedules ? countSchedules(schedules) : countBroadcasts(broadcasts)),
  };
}

const broadcastLate = (late: readonly Due[]): FoundAlarm => ({
  kind: 'broadcast-late',
  what: 'Nothing of a broadcast was sent, though its time has come',
  remedy: 'Workers are busy with others, or cannot reach the database: see their log, and add workers.',
  sinceMs: earliest(late),
  ...countBroadcasts(late),
});

const scheduleLate = (late: readonly Due[]): FoundAlarm => ({
  kind: 'schedule-late',
  what: 'A schedule was due, and no broadcast was made',
  remedy: `The log of the workers says why. Schedules: ${namesOf(late)}.`,
  sinceMs: earliest(late),
  ...countSchedules(late),
});

const countBroadcasts = (broadcasts: readonly Due[]) => ({
  count: broadcasts.length,
  unit: 'broadcast' as const,
  isAtLeast: broadcasts.length === maxDue,
  broadcastIds: idsOf(broadcasts),
  link: broadcasts.length === 1 ? `/console/broadcasts/${broadcasts[0]!.id}` : '/console/broadcasts',
});

const countSchedules = (schedules: readonly Due[]) => ({
  count: schedules.length,
  unit: 'schedule' as const,
  isAtLeast: schedules.length === maxDue,
  link: '/console/schedules',
});
