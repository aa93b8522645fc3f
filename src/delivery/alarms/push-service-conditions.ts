// Finds push services that cannot be reached, refuse our token or key, accept nothing, report nearly all subscriptions
// as gone, or have deletions that wait for an operator.
import { deletionGuardPolicy } from '../../store/deletion-guard.ts';
import { heldDeletionsReason, type HeldOrigin } from '../../store/held-deletions.ts';
import type { RaisedAlarm, TokenAnswers } from '../../store/alarms.ts';
import type { StoredSenderReport } from '../../store/sending.ts';
import type { OutcomeInterval } from '../../store/statistics.ts';
import { meaningOf } from '../broadcast/meanings.ts';
import { countOf as countWords } from '../../errors/format-count.ts';
import { findUnreachable, type UnreachablePushService } from '../broadcast/watch.ts';
import type { AlarmKind } from './alarm-kinds.ts';
import type { FoundAlarm } from './standing-alarm.ts';
import { pushServiceName } from '../../protocol/known-push-services.ts';

const link = '/console/push-services';
export const vapidRefusedReason = 'vapid-refused';

/** Returns an alarm for each push service that cannot be reached. */
export const unreachableAlarms = (senders: readonly StoredSenderReport[]): readonly FoundAlarm[] =>
  findUnreachable(senders).map(toUnreachable);

/**
 * Merges alarms of the same kind if their hosts belong to one push service. All unlisted hosts also
 * share one alarm of each kind, because there may be any number of them.
 *
 * @param unlisted the names of unlisted hosts
 */
export function shareAlarms(
  all: readonly FoundAlarm[],
  unlisted: ReadonlySet<string>,
): readonly FoundAlarm[] {
  const byService = Map.groupBy(all, ({ kind, pushService = '' }) => `${kind}:${pushService}`);
  const found = [...byService.values()].map(join);
  const isShared = ({ pushService = '' }: FoundAlarm): boolean => unlisted.has(pushService);
  const byKind = Map.groupBy(found.filter(isShared), ({ kind }) => kind);
  const isSaid = ({ kind, pushService = '' }: FoundAlarm): boolean => pushService === '' && byKind.has(kind);
  return [...found.filter((alarm) => !isShared(alarm) && !isSaid(alarm)), ...byKind.values().map(toShared)];
}

function join(alarms: readonly FoundAlarm[]): FoundAlarm {
  const [first, ...others] = alarms;
  if (others.length === 0) return first!;
  const broadcastIds = new Set(alarms.flatMap((alarm) => alarm.broadcastIds ?? []));
  return {
    ...first!,
    sinceMs: Math.min(...alarms.map(({ sinceMs = Infinity }) => sinceMs)),
    count: alarms.reduce((sum, { count }) => sum + count, 0),
    broadcastIds: [...broadcastIds].toSorted((one, other) => one - other),
  };
}

function toShared(alarms: readonly FoundAlarm[]): FoundAlarm {
  const { pushService = '', what, remedy, ...joined } = join(alarms);
  const all = `${countWords(alarms.length, 'push service')} that nobody has listed`;
  const some = alarms.slice(0, 3).map((alarm) => alarm.pushService);
  const removal = '"deskbell subscriptions remove --push-service HOST" removes the subscriptions of one.';
  return {
    ...joined,
    pushService: '',
    what: what.replace(pushService, () => (alarms.length === 1 ? all : `Each of ${all}`)),
    remedy: `${remedy} ${removal}`,
    detail: [...some, ...(alarms.length > some.length ? ['…'] : [])].join(', '),
  };
}

const toUnreachable = ({
  origin,
  sinceMs,
  reason,
  obstacle,
  machines,
}: UnreachablePushService): FoundAlarm => ({
  kind: 'unreachable',
  pushService: pushServiceName(origin),
  what: `${pushServiceName(origin)} cannot be reached`,
  remedy: `Its messages wait and are tried again. ${remedyFor(obstacle, machines)}`,
  detail: reason,
  sinceMs,
  count: machines.length,
  unit: 'machine',
  link,
});

function remedyFor(obstacle: string | undefined, machines: readonly string[]): string {
  if (obstacle !== undefined && obstacle !== 'connection') return meaningOf(obstacle).remedy;
  return `Check name resolution, firewall and proxy of ${machines.join(', ')}.`;
}

/** @param raised the alarms that broadcasts have raised */
export const heldAlarms = (
  held: readonly HeldOrigin[],
  raised: readonly RaisedAlarm[],
): readonly FoundAlarm[] =>
  held.map(({ origin, subscriptions, sinceMs }) => ({
    kind: heldDeletionsReason,
    pushService: pushServiceName(origin),
    what: `${pushServiceName(origin)}: ${meaningOf(heldDeletionsReason).meaning}`,
    remedy: meaningOf(heldDeletionsReason).remedy,
    sinceMs,
    count: subscriptions,
    unit: 'subscription',
    broadcastIds:
      raised.find((alarm) => alarm.origin === origin && alarm.reason === heldDeletionsReason)?.broadcastIds ??
      [],
    link,
  }));

/** Finds push services that refuse our token or key for every message. @returns when the refusals began, by origin */
export const suspendedSince = (answers: readonly TokenAnswers[]): ReadonlyMap<string, number> => {
  const since = new Map<string, number>();
  for (const { origin, suspendedSinceMs } of answers) {
    if (suspendedSinceMs === undefined) continue;
    since.set(origin, Math.min(suspendedSinceMs, since.get(origin) ?? Infinity));
  }
  return since;
};

/** Only responses from this period count. */
export const judgedMs = 24 * 60 * 60 * 1000;

/** This many responses are enough to judge push services by. */
const judgedAnswers = 100;

/** Nearly all responses are the same if at most one in this many is different (5 %). */
const share = deletionGuardPolicy.answersPerAcceptance;

type Answers = Pick<OutcomeInterval, 'accepted' | 'gone' | 'rejected'>;

const sum = ({ accepted, gone, rejected }: Answers): number => accepted + gone + rejected;

/** The alarms that are raised if nearly all responses are the same. More specific alarms come first. */
const unanimous = {
  'all-gone': {
    isSaidBy: (answers: Answers) => (answers.accepted + answers.rejected) * share <= sum(answers),
    countOf: ({ gone }: Answers) => gone,
    what: (pushService: string) => `${pushService} calls nearly all subscriptions gone`,
    remedy:
      'If it is right, these people have to subscribe again. A VAPID key that was replaced or an old copy of the database is a usual cause.',
  },
  'accepts-nothing': {
    isSaidBy: (answers: Answers) => answers.accepted * share <= sum(answers),
    countOf: ({ gone, rejected }: Answers) => gone + rejected,
    what: (pushService: string) => `${pushService} accepts almost nothing`,
    remedy: 'See what it refuses, and why.',
  },
} as const satisfies Partial<Record<AlarmKind, object>>;

/**
 * Finds push services whose recent responses are nearly all the same, and the time when this began.
 *
 * @param intervals in chronological order
 * @param isNamed returns true for a push service that another alarm already reports
 */
export function findUnanimous(
  intervals: readonly OutcomeInterval[],
  isNamed: (pushService: string) => boolean = () => false,
): readonly FoundAlarm[] {
  const byService = Map.groupBy(intervals, ({ pushService }) => pushService);
  return [...byService]
    .filter(([pushService]) => !isNamed(pushService))
    .flatMap(([pushService, its]) => judge(pushService, its.toReversed()));
}

/** @param newestFirst the outcomes at this push service, one element for each interval of time */
function judge(pushService: string, newestFirst: readonly OutcomeInterval[]): readonly FoundAlarm[] {
  let judged = noAnswers;
  let count = 0;
  for (const interval of newestFirst) {
    if (sum(judged) >= judgedAnswers) break;
    judged = add(judged, interval);
    count += 1;
  }
  if (sum(judged) < deletionGuardPolicy.minWindowAnswers) return [];
  for (const kind of ['all-gone', 'accepts-nothing'] as const) {
    const { isSaidBy, countOf, what, remedy } = unanimous[kind];
    if (!isSaidBy(judged)) continue;
    const others = newestFirst.slice(count);
    const end = others.findIndex((interval) => !isSaidBy(interval));
    const all = newestFirst.slice(0, end === -1 ? undefined : count + end);
    return [
      {
        kind,
        pushService,
        what: what(pushService),
        remedy,
        sinceMs: all.at(-1)!.startMs,
        count: countOf(all.reduce(add, noAnswers)),
        unit: 'message',
        link,
      },
    ];
  }
  return [];
}

/**
 * Too many subscriptions have ended if at least one in `answersPerEnd` responses reports an end, and if such responses
 * are at least `timesElsewhere` times as frequent as at other push services.
 */
const manyEnded = { answersPerEnd: 20, timesElsewhere: 3 } as const;

const apple = 'push.apple.com';

/**
 * Finds out whether Apple ends unusually many subscriptions. Apple does so silently if messages show no notification.
 * Finds nothing if Apple ends all subscriptions, or if there are too few responses.
 *
 * @param intervals of one day
 */
export function findManyEnded(intervals: readonly OutcomeInterval[]): readonly FoundAlarm[] {
  const { here = [], elsewhere = [] } = Object.groupBy(intervals, ({ pushService }) =>
    pushService === apple ? 'here' : 'elsewhere',
  );
  const [its, others] = [here.reduce(add, noAnswers), elsewhere.reduce(add, noAnswers)];
  const isMany = (answers: Answers): boolean =>
    answers.gone > 0 && answers.gone * manyEnded.answersPerEnd >= sum(answers);
  const isLikeElsewhere =
    its.gone * sum(others) < manyEnded.timesElsewhere * others.gone * sum(its) || sum(others) < judgedAnswers;
  if (its.gone < deletionGuardPolicy.minWindowAnswers || !isMany(its) || isLikeElsewhere) return [];
  if (findUnanimous(here).length > 0) return [];
  return [
    {
      kind: 'many-ended',
      pushService: apple,
      what: `${apple} ends many more subscriptions than other push services`,
      remedy:
        'Safari ends a subscription after about three messages that showed no notification: a service worker of your own must show one for each. ' +
        'People who remove your web app from the Home Screen end theirs too.',
      sinceMs: here.find(isMany)!.startMs,
      count: its.gone,
      unit: 'subscription',
      link,
    },
  ];
}

const noAnswers: Answers = { accepted: 0, gone: 0, rejected: 0 };

const add = (one: Answers, other: Answers): Answers => ({
  accepted: one.accepted + other.accepted,
  gone: one.gone + other.gone,
  rejected: one.rejected + other.rejected,
});
