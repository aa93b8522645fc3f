// What each figure of the console's pages must be: a count over the rows of the test's own world. A name without one, or one that is never
// shown, fails.
import assert from 'node:assert/strict';
import type { ShownFigure } from '../../../src/operator/console/figures.ts';
import { settlements, type Settlement } from '../../../src/store/broadcasts.ts';
import { vapidPublicKey } from '../../store/made-up-subscription.ts';
import {
  acceptancesOf,
  alarmsOf,
  causeOf,
  count,
  dayMs,
  hourMs,
  isOf,
  isPending,
  iso,
  nextPartOf,
  ofCause,
  ofOutcome,
  reachedAfterMs,
  removedNames,
  reports,
  shareOfRecipients,
  standingAlarms,
  stateOf,
  stateOfRow,
  type Lost,
  type Post,
  type Story,
  type World,
} from './world.ts';

/** @param of the parts of the figure's `of` @returns what the figure must be */
type FigureOracle = (world: World, of: readonly string[], shown: ShownFigure) => unknown;

const storyOf = (world: World, id: string | undefined): Story =>
  world.stories.find((story) => String(story.id) === id)!;

const ofStory =
  (figure: (story: Story, world: World, of: readonly string[]) => unknown): FigureOracle =>
  (world, of) =>
    figure(storyOf(world, of[0]), world, of);

const ofOutcomes = (prefix: string, figure: (outcome: Settlement) => FigureOracle) =>
  Object.fromEntries(settlements.map((name) => [`${prefix}.${name}`, figure(name)]));

const sum = (posts: readonly Post[]): number => posts.reduce((all, { posts: more }) => all + more, 0);

const minuteMs = 60_000;
const steps: Readonly<Record<string, readonly [stepMs: number, bars: number]>> = {
  hour: [minuteMs, 60],
  day: [30 * minuteMs, 48],
  week: [3 * hourMs, 56],
};

/** @param of `hour`, `lastHour` or `broadcast 7`, and a push service */
function postsOf(world: World, of: readonly string[]): readonly Post[] {
  const [scope = '', ...others] = of;
  const { nowMs } = world;
  const service = others.at(-1);
  const ofService = world.posts.filter(({ row }) => isOf(row, service));
  if (scope === 'broadcast') return ofService.filter(({ story }) => String(story.id) === others[0]);
  const [stepMs, bars] = steps[scope] ?? [10_000, 361];
  const sinceMs = nowMs - (nowMs % stepMs) - (bars - 1) * stepMs;
  return ofService.filter(({ atMs }) => atMs >= sinceMs);
}

/** @param of as of `postsOf`, and the bar's beginning and end */
const postsOfBar = (world: World, of: readonly string[]): readonly Post[] => {
  const [fromMs, untilMs] = of.slice(-2).map(Number) as [number, number];
  return postsOf(world, of.slice(0, -2)).filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
};

/** Those that were not accepted. @param of `newest` or an id, push service, outcome and status */
function answersOf(world: World, [scope, service, outcome, status]: readonly string[]): readonly Post[] {
  const newest = new Set(world.stories.slice(-20));
  return world.posts.filter(
    (post) =>
      (scope === 'newest' ? newest.has(post.story) : String(post.story.id) === scope) &&
      isOf(post.row, service) &&
      post.outcome === outcome &&
      String(post.status) === status,
  );
}

/** @param of ids of broadcast and subscription, and the time of an attempt */
const postOf = (world: World, [id, subscriptionId, atMs]: readonly string[]): Post =>
  world.posts.find(
    (post) =>
      String(post.story.id) === id &&
      String(post.row.id) === subscriptionId &&
      (atMs === undefined || String(post.atMs) === atMs),
  )!;

/** Imports count as a visit. */
export const renewedAt = ({ visitMs, createdAtMs }: World['people'][number]): number =>
  visitMs ?? createdAtMs;

const personOf = (world: World, id: string | undefined) =>
  world.people.find((person) => String(person.id) === id)!;
const rowOf = (world: World, [id, subscriptionId]: readonly string[]) => {
  const { rows, leftOut } = storyOf(world, id);
  return [...rows, ...leftOut].find((row) => String(row.id) === subscriptionId);
};

export const stateIn = (world: World, of: readonly string[]): string => {
  const row = rowOf(world, of);
  return row === undefined ? 'notInAudience' : stateOfRow(row, world);
};

const shareOf = (reported: (story: Story) => number): FigureOracle =>
  ofStory((story, world) => reported(story) / (ofOutcome('accepted')(story, world) as number));

const leftOut = (reason: Story['leftOut'][number]['outcome']): FigureOracle =>
  ofStory((story) => story.leftOut.filter(({ outcome }) => outcome === reason).length);

const waits = (cause: Parameters<typeof ofCause>[2]): FigureOracle =>
  ofStory((story, world, [, origin]) =>
    count(
      story,
      (row) => isPending(row) && causeOf(row, world) === cause && (origin === undefined || isOf(row, origin)),
    ),
  );

/** When so many were reached, as exact as the intervals of the counts: the figure says at most so much more. */
const timeTo = (percent: number): FigureOracle =>
  ofStory((story) => endOf(reachedAfterMs(story, percent)!) / 1000);

/** How wide the intervals of a broadcast are after so long. */
const widthOf = (elapsedMs: number): number => {
  if (elapsedMs < 2 * minuteMs) return 1000;
  if (elapsedMs < 20 * minuteMs) return 10_000;
  return elapsedMs < 6 * hourMs ? minuteMs : hourMs;
};

const startOf = (elapsedMs: number): number =>
  Math.floor(elapsedMs / widthOf(elapsedMs)) * widthOf(elapsedMs);
const endOf = (elapsedMs: number): number => startOf(elapsedMs) + widthOf(elapsedMs);

const precision = (percent: number): FigureOracle =>
  ofStory((story) => widthOf(reachedAfterMs(story, percent)!) / 1000);

const ofOrigin = (figure: (rows: Story['rows'], story: Story, world: World) => number): FigureOracle =>
  ofStory((story, world, [, name]) =>
    figure(
      story.rows.filter((row) => isOf(row, name)),
      story,
      world,
    ),
  );

const open =
  (state: string): FigureOracle =>
  (world) =>
    world.stories.filter((story) => stateOf(story, world) === state).length;

const startOfDay = (atMs: number): number => atMs - (atMs % dayMs);
const onDay = (times: readonly number[], date: string | undefined): number =>
  times.filter((atMs) => date === 'all' || iso(atMs).startsWith(date!)).length;
const gainedTimes = ({ people }: World): readonly number[] => people.map(({ createdAtMs }) => createdAtMs);
const lostTimes = ({ lost }: World): readonly number[] => lost.map(({ atMs }) => atMs);

const alarm =
  (figure: (found: ReturnType<typeof standingAlarms>[number]) => unknown): FigureOracle =>
  (world, of) => {
    const found = standingAlarms(world).find(({ id }) => id === of.join(' '));
    assert.ok(found, `${of.join(' ')} must not stand`);
    return figure(found);
  };

const raised =
  (figure: (found: ReturnType<typeof alarmsOf>[number]) => unknown): FigureOracle =>
  (world, [id, origin, reason]) =>
    figure(alarmsOf(storyOf(world, id)).find((each) => each.origin === origin && each.reason === reason)!);

const service =
  (figure: (reports: readonly Readonly<Record<string, unknown>>[]) => unknown): FigureOracle =>
  (world, [name]) =>
    figure(
      world.senders
        .flatMap(({ pushServices }) => pushServices)
        .filter((reported) => isOf(reported, name)) as never,
    );
export const worstOf = <Report extends { readonly breaker?: unknown }>(given: readonly Report[]) =>
  ['open', 'half-open'].flatMap((state) => given.filter(({ breaker }) => breaker === state))[0];
const total = (name: string): FigureOracle =>
  service((all) => all.reduce((one, each) => one + (each[name] as number), 0));
const most = (name: string): FigureOracle =>
  service((all) => Math.max(...all.map((each) => Number(each[name] ?? 0))));

const held =
  (figure: (times: readonly number[]) => number): FigureOracle =>
  (world, [host]) =>
    figure(
      world.people.flatMap(({ origin, isStored, heldSinceMs }) =>
        isStored && origin === `https://${host}` ? (heldSinceMs ?? []) : [],
      ),
    );

/** @param isMeant given the time since the last visit; `undefined`: none since it was imported */
const visits =
  (isMeant: (elapsedMs: number | undefined) => boolean): FigureOracle =>
  ({ people, nowMs }, [name]) =>
    people.filter(
      (person) => person.isStored && isOf(person, name) && isMeant(person.visitMs && nowMs - person.visitMs),
    ).length;

const losses =
  (reason: Lost['reason']): FigureOracle =>
  ({ lost }, of) =>
    lost.filter(
      (each) =>
        each.reason === reason &&
        of.every((word) =>
          /^\d{4}-/.test(word) ? iso(each.atMs).startsWith(word) : isOf(each.person, word),
        ),
    ).length;

/** Those of a removed person have no id. */
const lostOf = ({ lost }: World, [id]: readonly string[]): readonly Lost[] =>
  lost.filter(({ person, isOfPerson }) => id === (isOfPerson ? '' : String(person.id)));

const stored = (world: World): number => world.people.filter(({ isStored }) => isStored).length;
const now: FigureOracle = (_world, _of, { value }) => {
  assert.ok(Math.abs(Number(value) - Date.now()) < 60_000, `${value} is not now`);
  return value;
};

const scheduleOf = (world: World, id: string | undefined) =>
  world.schedules.find((schedule) => String(schedule.id) === id)!;

/** By name. */
export const figureOracle: Readonly<Record<string, FigureOracle>> = {
  'alarm.acknowledgedAt': alarm(({ acknowledgedAtMs }) => acknowledgedAtMs),
  'alarm.count': alarm((found) => found.count),
  'alarm.otherBroadcasts': alarm(({ broadcasts }) => broadcasts.length - 10),
  'alarm.since': alarm(({ sinceMs }) => sinceMs),

  'answer.lastAt': (world, of) => Math.max(...answersOf(world, of).map(({ atMs }) => atMs)),
  'answer.rarer': () => 0,
  'answer.rarerRows': () => 0,
  'answer.status': (world, of) => answersOf(world, of)[0]?.status,
  'answer.rows': (world, of) => answersOf(world, of).length,

  'attempt.at': (world, of) => postOf(world, of).atMs,
  'attempt.number': (world, of) =>
    world.posts.filter(
      (post) =>
        String(post.story.id) === of[0] &&
        String(post.row.id) === of[1] &&
        post.atMs <= Number(of[2]) &&
        post.posts > 0,
    ).length,
  'attempt.outcome': (world, of) => postOf(world, of).outcome,
  'attempt.status': (world, of) => postOf(world, of).status,
  'attempt.words': (world, of, { value }) => {
    const { outcome, atMs, status } = postOf(world, of);
    assert.ok(
      String(value).startsWith(
        `${outcome}${status === undefined ? '' : `, status ${status}`}, at ${iso(atMs)}`,
      ),
      String(value),
    );
    return value;
  },

  'audit.at': (world, [id]) => world.audited[Number(id) - 1]!.atMs,
  'audit.status': (world, [id]) => world.audited[Number(id) - 1]!.status,

  ...ofOutcomes(
    'bars',
    (name) => (world, of) => postsOfBar(world, of).filter(({ outcome }) => outcome === name).length,
  ),
  'bars.from': (world, of, { value }) =>
    world.posts.some(
      ({ atMs }) => atMs >= Number(value) && atMs < Number(value) + (steps[of[0]!]?.[0] ?? Infinity),
    )
      ? value
      : 'a time of something',

  'bell.createdAt': ({ bell }) => bell.createdAtMs,
  'bell.folded': ({ bell }) => bell.rungAtMs.length - 1,
  'bell.lastRequestAt': ({ bell }) => bell.rungAtMs.at(-1),
  'bell.requestAt': ({ bell }, _of, { value }) => bell.rungAtMs.find((atMs) => atMs === value),

  ...Object.fromEntries(
    (['pending', 'removed', 'cancelled', ...settlements] as const).map((name) => [
      `broadcast.${name}`,
      ofStory(ofOutcome(name)),
    ]),
  ),
  'broadcast.unaccounted': () => 0,
  'broadcast.clicked': ofStory((story) => reports(story, 'clicked')),
  'broadcast.clickedAction': ofStory((story) => reports(story, 'onAction')),
  'broadcast.clickedShare': shareOf((story) => reports(story, 'clicked')),
  'broadcast.createdAt': ofStory(({ createdAtMs }) => createdAtMs),
  'broadcast.dismissed': () => 0,
  'broadcast.dismissedShare': () => 0,
  // its rate: those of the last interval, of a second
  'broadcast.etaSeconds': ofStory((story, world) => ofCause(story, world, 'now') / rateOf(story, world)),
  'broadcast.expiresAt': ofStory(({ expiresAtMs }) => expiresAtMs),
  'broadcast.finishedAt': ofStory(({ endedAtMs }) => endedAtMs),
  'broadcast.id': ofStory(({ id }) => id),
  'broadcast.isAlarmed': ofStory(({ id }, world) =>
    Number(standingAlarms(world).some(({ rank, broadcasts }) => rank !== 'note' && broadcasts.includes(id))),
  ),
  'broadcast.leftOut.channelOff': leftOut('channelOff'),
  'broadcast.leftOut.inactive': leftOut('inactive'),
  'broadcast.leftOut.timePassed': leftOut('timePassed'),
  'broadcast.nextPartAt': ofStory((story, world) => Date.parse(nextPartOf(story, world)!)),
  'broadcast.ofOrigin.attempts': ofOrigin((rows) => rows.reduce((all, { posts }) => all + posts, 0)),
  'broadcast.ofOrigin.held back': ofOrigin(
    (rows, _story, world) =>
      rows.filter((row) => isPending(row) && causeOf(row, world) === 'pushService').length,
  ),
  'broadcast.ofOrigin.shown': ofOrigin((rows, { shown }) => rows.filter(({ id }) => shown.has(id)).length),
  'broadcast.ofOrigin.clicked': ofOrigin(
    (rows, { clicked }) => rows.filter(({ id }) => clicked.has(id)).length,
  ),
  'broadcast.ofOrigin.dismissed': () => 0,
  ...ofOutcomes('broadcast.ofOrigin', (name) =>
    ofOrigin((rows) => rows.filter(({ outcome }) => outcome === name).length),
  ),
  'broadcast.ofText': ofStory(({ draft, rows }, world, [, language = '']) => {
    const textOf = (id: number) => (draft.texts && personOf(world, String(id)).language === 'de' ? 'de' : '');
    return rows.filter(({ id }) => textOf(id) === language).length;
  }),
  'broadcast.payloadBytes': ofStory(({ draft }, _world, [, language]) =>
    language === undefined ? draft.payload.length : draft.texts!.get(language)!.length,
  ),
  'broadcast.rate': ofStory((story, world) => rateOf(story, world)),
  'broadcast.reachedShare': ofStory((story, world) =>
    story.rows.length === 0 ? 0 : (ofOutcome('accepted')(story, world) as number) / story.rows.length,
  ),
  'broadcast.recipients': ofStory(({ rows }) => rows.length),
  'broadcast.shown': ofStory((story) => reports(story, 'shown')),
  'broadcast.shownShare': shareOf((story) => reports(story, 'shown')),
  'broadcast.startAt': ofStory(({ startAtMs }) => startAtMs),
  'broadcast.state': ofStory(stateOf),
  'broadcast.timePrecision.50': precision(50),
  'broadcast.timePrecision.95': precision(95),
  'broadcast.timePrecision.99': precision(99),
  'broadcast.timeTo.50': timeTo(50),
  'broadcast.timeTo.95': timeTo(95),
  'broadcast.timeTo.99': timeTo(99),
  'broadcast.toCome': ofStory(
    ({ rows }, world, [, atMs]) =>
      rows.filter(
        (row) => isPending(row) && causeOf(row, world) === 'localTime' && String(row.untilMs) === atMs,
      ).length,
  ),
  'broadcast.toComeAt': (world, [id], { value }) =>
    storyOf(world, id).rows.find(({ untilMs }) => untilMs === value && untilMs > world.nowMs)?.untilMs,
  'broadcast.tookSeconds': ofStory(({ startAtMs, endedAtMs }) => Math.max(0, endedAtMs! - startAtMs) / 1000),
  'broadcast.ttlSeconds': ofStory(({ draft }) => draft.ttlSeconds),
  'broadcast.waits.localTime': waits('localTime'),
  'broadcast.waits.now': waits('now'),
  'broadcast.waits.pushService': waits('pushService'),
  'broadcast.waits.retry': waits('retry'),
  'broadcast.waits.turn': waits('turn'),

  'days.date': (world, _of, { value }) =>
    startOfDay(world.nowMs) - Date.parse(String(value)) < 30 * dayMs ? value : 'one of thirty days',
  'days.gained': (world, [date]) => onDay(gainedTimes(world), date),
  'days.lost': (world, [date]) => onDay(lostTimes(world), date),

  'done.at': now,
  'done.messages': ({ done }) => done,
  'done.subscriptions': ({ done }) => done,

  'draft.bytes': ({ draft }) => draft.bytes,
  'draft.excess': ({ draft }) => draft.bytes - draft.maxBytes,
  'draft.maxBytes': ({ draft }) => draft.maxBytes,
  'draft.memberBytes': ({ draft }) => draft.memberBytes,
  'draft.pictureBytes': ({ draft }) => draft.pictureBytes,
  'draft.recipients': stored,
  'draft.start': ({ draft }) => draft.startAtMs,

  'held.since': held((times) => Math.min(...times)),
  'held.subscriptions': held((times) => times.length),

  'key.subscriptions': (world, [key]) => (key === vapidPublicKey ? stored(world) : 0),

  // to the second, by the database's clock
  'loss.at': (world, of, { value }) =>
    lostOf(world, of).some(({ atMs }) => Math.abs(atMs - Number(value)) < 5000) ? value : 'when it was lost',
  'loss.reason': (world, of) => lostOf(world, of)[0]!.reason,
  'losses.gone': losses('gone'),
  'losses.removed': losses('removed'),
  'losses.replaced': losses('replaced'),
  'losses.unsubscribed': losses('unsubscribed'),

  'more.hosts': () => 0,

  'open.paused': open('paused'),
  'open.preparing': () => 0,
  'open.running': open('running'),
  'open.scheduled': open('scheduled'),

  'outcome.attempts': (world, [id, subscriptionId]) =>
    world.posts.filter(({ story, row }) => String(story.id) === id && String(row.id) === subscriptionId)
      .length,
  'outcome.state': (world, of) => stateIn(world, of),
  'outcome.words': (world, of, { value }) => {
    const row = rowOf(world, of);
    if (row === undefined)
      return 'It was not in the audience of the broadcast: it did not belong to those whom it was for.';
    const posts = world.posts.filter((post) => String(post.story.id) === of[0] && post.row === row);
    const state = stateOfRow(row, world);
    const times = [
      ...posts.slice(-1).map(({ atMs }) => atMs),
      ...(state === 'waiting' || (state === 'dormant' && row.untilMs !== undefined)
        ? [row.expiresAtMs, ...(row.cause !== 'pushService' ? [row.untilMs!] : [])]
        : []),
      personOf(world, of[1]).heldSinceMs,
    ].flatMap((atMs) => (atMs === undefined ? [] : iso(atMs)));
    const told = String(value).match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g) ?? [];
    assert.deepEqual([...new Set(told)].toSorted(), [...new Set(times)].toSorted(), String(value));
    assert.match(String(value), wordsOfState[state]!);
    assert.equal(String(value).includes('Too large'), posts.at(-1)?.outcome === 'rejected', String(value));
    return value;
  },

  'overview.acknowledged': (world) =>
    standingAlarms(world).filter(({ acknowledgedAtMs }) => acknowledgedAtMs).length,
  'overview.alarms': (world) =>
    standingAlarms(world).filter(({ acknowledgedAtMs }) => !acknowledgedAtMs).length,
  'overview.gained': (world) =>
    gainedTimes(world).filter((atMs) => startOfDay(atMs) === startOfDay(world.nowMs)).length,
  'overview.lost': (world) =>
    lostTimes(world).filter((atMs) => startOfDay(atMs) === startOfDay(world.nowMs)).length,
  'senders.machines': ({ workers }) => new Set(workers.map(({ machine }) => machine)).size,
  'overview.open': () => 0,
  'overview.rate': ({ posts, nowMs }) =>
    sum(posts.filter(({ atMs }) => atMs >= nowMs - (nowMs % 10_000) - 10_000)) /
    (10 + (nowMs % 10_000) / 1000),
  'overview.shown': () => 50,
  'overview.subscriptions': stored,
  'senders.workers': ({ workers }) => workers.length,

  'page.readAt': now,

  'person.channel': ({ choices }, [user, name]) => Number(choices.get(user!) ?? name === 'news'),
  'person.data': ({ data }, [user]) => data.get(user!),
  'person.devices': ({ people }, [user]) =>
    people.filter((person) => person.isStored && person.user === user).length,

  'person.removedAt': ({ nowMs }) => nowMs,

  'raised.firstAt': raised(({ firstAtMs }) => firstAtMs),
  'raised.rows': raised(({ rows }) => rows),

  ...Object.fromEntries(
    removedNames.map((name) => [`removed.${name}`, ({ removed }: World) => removed[name]]),
  ),

  'review.bytes': ({ draft }) => draft.bytes,
  'review.doneAt': (world, _of, { value }) => {
    const { nowMs, draft } = world;
    const lastMs = draft.throughMs ?? draft.startAtMs ?? nowMs;
    return nearly(value, lastMs + (draft.recipients / usualRate(world, draft.recipients)!.perSecond) * 1000);
  },
  'review.from': ({ draft }) => draft.fromMs,
  'review.lookedAt': () => 0,
  'review.ofText': (world, [language]) =>
    world.people.filter(({ isStored, language: own }) => isStored && (own === 'de') === (language === 'de'))
      .length,
  'review.readers': ({ draft }, of) => draft.readers.get(of.join(' ')),
  'review.recipients': ({ draft }) => draft.recipients,
  'review.seconds': (world, _of, { value, text }) => {
    const { recipients } = world.draft;
    const usual = usualRate(world, recipients);
    if (usual === undefined) return 'not known';
    const { perSecond, broadcasts } = usual;
    const rate = perSecond < 1 ? 'less than 1' : Math.floor(perSecond);
    assert.ok(text.endsWith(` ${broadcasts} broadcasts went: ${rate} a second`), text);
    return nearly(value, recipients / perSecond);
  },
  'review.start': ({ draft }) => draft.startAtMs,
  'review.through': ({ draft }) => draft.throughMs,

  'schedule.createdAt': (world, [id]) => scheduleOf(world, id).createdAtMs,
  'schedule.id': (world, [id]) => scheduleOf(world, id).id,
  'schedule.nextAt': (world, [id], { value }) => {
    const { nextAtMs } = scheduleOf(world, id);
    return [0, 1, 2].map((days) => nextAtMs + days * dayMs).find((atMs) => atMs === value);
  },
  'schedule.pausedAt': (world, [id]) => scheduleOf(world, id).pausedAtMs,
  'schedule.ttlSeconds': () => 7200,

  'service.breakerReason': service((all) => worstOf(all)?.['breakerReason']),
  'service.connections': total('connections'),
  'service.inFlight': total('inFlight'),
  'service.latencyMs': most('latencyMs'),
  'service.maxInFlight': total('maxInFlight'),
  'service.queued': total('queued'),
  'service.throttled': total('throttled'),
  'service.unreachableSeconds': service(
    (all) => Math.max(...all.map(({ unreachableMs = 0 }) => Number(unreachableMs))) / 1000,
  ),

  ...ofOutcomes(
    'services',
    (name) => (world, of) => postsOf(world, of).filter(({ outcome }) => outcome === name).length,
  ),
  'services.attempts': (world, of) => sum(postsOf(world, of)),

  'subscription.createdAt': (world, [id]) => personOf(world, id).createdAtMs,
  'subscription.endedAt': (world, [id]) => personOf(world, id).endedAtMs,
  'subscription.id': (world, [id]) => personOf(world, id).id,
  'subscription.updatedAt': (world, [id]) => renewedAt(personOf(world, id)),

  'tag.subscriptions': ({ people }, [tag]) =>
    people.filter((person) => person.isStored && person.tag === tag).length,

  'visits.longerAgo': visits((elapsedMs = 0) => elapsedMs > 90 * dayMs),
  'visits.notSinceImport': visits((elapsedMs) => elapsedMs === undefined),
  'visits.within7Days': visits((elapsedMs = Infinity) => elapsedMs <= 7 * dayMs),
  'visits.within30Days': visits((elapsedMs = 0) => elapsedMs > 7 * dayMs && elapsedMs <= 30 * dayMs),
  'visits.within90Days': visits((elapsedMs = 0) => elapsedMs > 30 * dayMs && elapsedMs <= 90 * dayMs),
};

/** Rows that were settled at this moment, by the second. */
function rateOf(story: Story, { posts, nowMs }: World): number {
  return posts.filter(
    (post) => post.story === story && post.atMs > nowMs - 10_000 && post.outcome !== 'retry',
  ).length;
}

const nearly = (value: unknown, expected: number): unknown =>
  Math.abs(Number(value) - expected) < 1 ? value : expected;

/** Of the newest of the last 20 that went to as many at once, from their first outcome to the last of 95 %, else of half of them, before a minute without an outcome. */
function usualRate(world: World, recipients: number) {
  const measured = world.stories
    .slice(-20)
    .toReversed()
    .filter(
      (story) =>
        stateOf(story, world) === 'done' &&
        story.draft.localTime === undefined &&
        story.draft.quietHours === undefined &&
        story.rows.length >= Math.max(1, recipients),
    )
    .flatMap((story) => {
      const times = world.posts
        .filter((post) => post.story === story)
        .map(({ atMs }) => atMs - story.startAtMs)
        .toSorted((one, other) => one - other);
      const later = times.find((each, index) => startOf(each) - endOf(times[index - 1] ?? each) > 60_000);
      const accepted = acceptancesOf(story).filter((each) => each < (later ?? Infinity));
      const percent = [95, 50].find((each) => accepted.length >= shareOfRecipients(story, each));
      if (percent === undefined) return [];
      const last = accepted[shareOfRecipients(story, percent) - 1]!;
      const seconds = (endOf(last) - startOf(times[0]!)) / 1000;
      const all = count(story, ({ outcome }) => outcome !== 'removed');
      return [{ rows: (all * percent) / 100, seconds }];
    })
    .slice(0, 3);
  const sumOf = (name: 'rows' | 'seconds') => measured.reduce((all, each) => all + each[name], 0);
  return measured.length === 0
    ? undefined
    : { perSecond: sumOf('rows') / sumOf('seconds'), broadcasts: measured.length };
}

const wordsOfState: Readonly<Record<string, RegExp>> = {
  accepted: /accepted it/,
  gone: /said that the subscription has ended/,
  rejected: /refused it with status 413/,
  expired: /time to live ended/,
  exhausted: /given up/,
  doubtful: /in doubt/,
  capped: /frequency cap/,
  dormant: /the message waits, but the broadcast does not|was dropped/,
  waiting: /wait|tried again|It is tried/,
  pending: /its turn is still to come/,
  removed: /removed/,
  cancelled: /the broadcast was cancelled/,
  channelOff: /the channel off/,
  timePassed: /was over/,
  inactive: /reported no click/,
};
