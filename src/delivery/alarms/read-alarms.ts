// Reads all alarms that are active now. An alarm is active as long as its condition lasts. Console, API, commands and
// metrics all use this.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';
import { type Acknowledgement, type RaisedAlarm, type TokenAnswers } from '../../store/alarms.ts';
import { heldDeletionsReason } from '../../store/held-deletions.ts';
import type { SendingPause } from '../../store/sending.ts';
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
import { alarmRanks, localKinds, type WarningKind } from './alarm-kinds.ts';
import { findLateWork, type Lateness } from './late-work.ts';
import { type FoundAlarm, isAcknowledged, type StandingAlarm, toStanding } from './standing-alarm.ts';

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

/** False if the push service has accepted our token since the alarm was raised, or another alarm covers the problem. */
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
