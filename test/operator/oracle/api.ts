// What the members of the API's answers must be, by the models of its description: a member that holds a figure, a state or a time, and
// that is not counted here, fails.
import assert from 'node:assert/strict';
import { describeRoutes } from '../../../src/http/description/openapi-document.ts';
import { modelOf } from '../../../src/http/schema.ts';
import { operatorDescription } from '../../../src/operator/api/add-api.ts';
import type { RunningOperator } from '../running-operator.ts';
import { vapidPublicKey } from '../../store/made-up-subscription.ts';
import { renewedAt, stateIn, worstOf } from './figures.ts';
import {
  dayMs,
  iso,
  isStored,
  lateTimes,
  removedNames,
  secondKey,
  standingAlarms,
  type Json,
  type Post,
  type Story,
  type World,
} from './world.ts';

interface Schema extends Readonly<Record<string, unknown>> {
  readonly type?: unknown;
  readonly format?: unknown;
  readonly enum?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** What an operation answers: a thing, or a list of things. */
interface Answer {
  readonly route: string;
  readonly isList: boolean;
  readonly thing: Schema;
}

const isFigure = (schema: Schema): boolean =>
  ['integer', 'number', 'boolean'].includes(String(schema.type)) ||
  schema.format === 'date-time' ||
  schema.enum !== undefined ||
  [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
    ...(schema.anyOf ?? []),
  ].some(isFigure) ||
  (typeof schema['additionalProperties'] === 'object' && isFigure(schema['additionalProperties'] as Schema));

/** The members that hold a figure, a state or a time. */
const figuresIn = ({ properties = {} }: Schema): readonly string[] =>
  Object.entries(properties).flatMap(([name, schema]) => (isFigure(schema) ? name : []));

/** Of each operation that answers JSON. */
export function answersOf({ routes }: RunningOperator): readonly Answer[] {
  const { paths } = describeRoutes(
    routes.map(({ options }) => options),
    '',
    operatorDescription,
  );
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) => {
      const { 200: ok, 201: made } = responses as Record<
        number,
        { content?: Record<string, { schema: Schema }> }
      >;
      const schema = (ok ?? made)?.content?.['application/json']?.schema;
      if (schema === undefined || path === '/openapi.json') return [];
      const item = schema.properties?.['items']?.items;
      return [{ route: `${method} ${path}`, isList: item !== undefined, thing: item ?? schema }];
    }),
  );
}

type Member = (world: World, item: Json) => unknown;

const storyOf = (world: World, id: unknown): Story => world.stories.find((story) => story.id === id)!;
const personOf = ({ people }: World, id: unknown) => people.find((person) => person.id === id)!;
const scheduleOf = ({ schedules }: World, id: unknown) => schedules.find((schedule) => schedule.id === id)!;
const alarmOf = (world: World, id: unknown) => standingAlarms(world).find((alarm) => alarm.id === id)!;
const time = (atMs: number | undefined): string | undefined => (atMs === undefined ? undefined : iso(atMs));

const postOf = (world: World, { broadcastId, subscriptionId, at }: Json): Post =>
  world.posts.find(
    ({ story, row, atMs }) => story.id === broadcastId && row.id === subscriptionId && iso(atMs) === at,
  )!;

const postsTo = ({ posts }: World, { broadcastId, subscriptionId }: Json): readonly Post[] =>
  posts.filter(({ story, row }) => story.id === broadcastId && row.id === subscriptionId);

const attempt = (world: World, post: Post): Json => ({
  broadcastId: post.story.id,
  subscriptionId: post.row.id,
  since: iso(post.atMs),
  at: iso(post.atMs),
  attempt: world.posts.filter(
    ({ story, row, atMs, posts }) =>
      story === post.story && row === post.row && atMs <= post.atMs && posts > 0,
  ).length,
  outcome: post.outcome,
  status: post.status,
});

const ofAttempt =
  (name: string): Member =>
  (world, item) =>
    attempt(world, postOf(world, item))[name];

const waitOf: Member = (world, { broadcastId, subscriptionId }) => {
  const row = storyOf(world, broadcastId).rows.find(({ id }) => id === subscriptionId);
  const state = stateIn(world, [String(broadcastId), String(subscriptionId)]);
  const isWaiting = state === 'waiting' || (state === 'dormant' && row?.untilMs !== undefined);
  if (row === undefined || !isWaiting) return undefined;
  const { cause, untilMs, expiresAtMs, tries } = row;
  return {
    for: cause,
    until: cause === 'pushService' ? undefined : time(untilMs),
    expiresAt: iso(expiresAtMs),
    attempts: tries,
  };
};

const receiptsOf: Member = (world, { broadcastId, subscriptionId }) => {
  const { draft, rows, shown, clicked } = storyOf(world, broadcastId);
  const row = rows.find(({ id }) => id === subscriptionId);
  if (draft.receiptActions === undefined || row === undefined) return undefined;
  if (!isStored(row, world)) return { kept: false, events: [] };
  const events = [shown.has(row.id) && 'shown', clicked.has(row.id) && 'clicked'].filter(Boolean);
  return { kept: true, events };
};

const schedule: Readonly<Record<string, Member>> = {
  createdBy: () => ({ operator: 'tester' }),
  id: (world, { id }) => scheduleOf(world, id).id,
  nextAt: (world, { id }) => {
    const { nextAtMs, pausedAtMs } = scheduleOf(world, id);
    return pausedAtMs === undefined ? iso(nextAtMs) : undefined;
  },
  pausedAt: (world, { id }) => time(scheduleOf(world, id).pausedAtMs),
  audience: () => 'all',
  message: () => ({ title: 'Hello', message: 'World' }),
  ttlSeconds: () => 7200,
  urgency: () => undefined,
  priority: () => undefined,
  skipInactive: () => undefined,
  ifTimePassed: () => undefined,
  receipts: () => false,
  createdAt: (world, { id }) => iso(scheduleOf(world, id).createdAtMs),
  lastBroadcast: () => undefined,
};

const bell: Readonly<Record<string, Member>> = {
  audience: () => ({ user: 'nobody' }),
  urgency: () => undefined,
  createdAt: ({ bell: { createdAtMs } }) => iso(createdAtMs),
  lastRequestAt: ({ bell: { rungAtMs } }) => time(rungAtMs.at(-1)),
};

/** What senders report of a push service. */
const reportsOf = ({ senders }: World, origin: unknown) =>
  senders.flatMap(({ pushServices }) => pushServices).filter((report) => report.origin === origin);
const total =
  (name: 'connections' | 'inFlight' | 'queued' | 'maxInFlight' | 'answers' | 'throttled'): Member =>
  (world, { origin }) =>
    reportsOf(world, origin).reduce((sum, report) => sum + report[name], 0);
const highest =
  (name: 'latencyMs' | 'unreachableMs'): Member =>
  (world, { origin }) => {
    const known = reportsOf(world, origin).flatMap((report) => report[name] ?? []);
    return known.length === 0 ? undefined : Math.max(...known);
  };
const heldOf = ({ people }: World, origin: unknown): readonly number[] =>
  people.flatMap((person) =>
    person.isStored && person.origin === origin && person.heldSinceMs !== undefined
      ? [person.heldSinceMs]
      : [],
  );

export type ApiOracle = Readonly<Record<string, Readonly<Record<string, Member>>>>;

/** By model and member; those of `Broadcast` are in the test. */
export const apiOracle: ApiOracle = {
  Attempt: {
    // later ones have higher ones
    id: (_world, { id }) => id,
    ...Object.fromEntries(
      ['broadcastId', 'subscriptionId', 'since', 'at', 'attempt', 'outcome', 'status'].map((name) => [
        name,
        ofAttempt(name),
      ]),
    ),
  },
  RowOutcome: {
    broadcastId: (world, { broadcastId }) => storyOf(world, broadcastId).id,
    subscriptionId: (world, { subscriptionId }) => personOf(world, subscriptionId).id,
    state: (world, { broadcastId, subscriptionId }) =>
      stateIn(world, [String(broadcastId), String(subscriptionId)]),
    wait: waitOf,
    attempts: (world, item) => {
      const told = item['attempts'] as readonly Json[];
      const made = postsTo(world, item).toReversed();
      return made.map((post, index) => ({ ...told[index], ...attempt(world, post) }));
    },
    receipts: receiptsOf,
    deletionHeldSince: (world, { subscriptionId }) => {
      const { isStored: is, heldSinceMs } = personOf(world, subscriptionId);
      return is ? time(heldSinceMs) : undefined;
    },
  },
  Schedule: schedule,
  ScheduleWithTimes: {
    ...schedule,
    changes: (world, { id, changes }) =>
      (changes as readonly Json[]).map((change) => ({
        ...change,
        at: iso(world.audited[Number(change['id']) - 1]!.atMs),
        target: `schedule ${String(id)}`,
      })),
    nextTimes: (world, { id }) => {
      const { nextAtMs, pausedAtMs } = scheduleOf(world, id);
      return pausedAtMs === undefined ? [0, 1, 2].map((days) => iso(nextAtMs + days * dayMs)) : [];
    },
  },
  Bell: bell,
  BellWithRequests: {
    ...bell,
    requests: ({ bell: { rungAtMs }, stories }, item) => {
      const made = stories.filter(({ name }) => name === 'of a bell');
      const told = item['requests'] as readonly Json[];
      return rungAtMs
        .map((atMs, index) => ({
          ...told.at(-1 - index),
          at: iso(atMs),
          outcome: 'rung',
          broadcast: made[index]!.id,
        }))
        .toReversed();
    },
  },
  Subscription: {
    id: (world, { id }) => personOf(world, id).id,
    channels: (world, { id }) => ({ news: personOf(world, id).hasNews }),
    language: (world, { id }) => personOf(world, id).language,
    timeZone: (world, { id }) => personOf(world, id).zone,
    createdAt: (world, { id }) => iso(personOf(world, id).createdAtMs),
    updatedAt: (world, { id }) => iso(renewedAt(personOf(world, id))),
  },
  Channel: { isOnByDefault: () => true },
  Person: {
    data: ({ data }, { user }) => (data.has(String(user)) ? { age: data.get(String(user)) } : {}),
    channels: ({ choices }, { user }) =>
      choices.has(String(user)) ? { news: choices.get(String(user)) } : {},
  },
  PushService: {
    senders: (world, { origin }) => reportsOf(world, origin).length,
    connections: total('connections'),
    inFlight: total('inFlight'),
    queued: total('queued'),
    maxInFlight: total('maxInFlight'),
    latencyMs: highest('latencyMs'),
    answers: total('answers'),
    throttled: total('throttled'),
    breaker: (world, { origin }) => worstOf(reportsOf(world, origin))?.breaker ?? 'closed',
    breakerReason: (world, { origin }) => worstOf(reportsOf(world, origin))?.breakerReason,
    unreachableMs: highest('unreachableMs'),
    heldDeletions: (world, { origin }) => heldOf(world, origin).length,
    refusedKeys: ({ stories }, { origin }) =>
      stories.some(({ rows }) => rows.some((row) => row.cause === 'pushService' && row.origin === origin))
        ? [vapidPublicKey, secondKey]
        : [],
  },
  Sender: {
    processId: ({ senders }, { processId }) =>
      Number(processId) < senders.length ? processId : 'one of a worker',
    kind: ({ senders }, { processId }) => senders[Number(processId)]?.kind,
    startedAt: ({ senders }) => iso(senders[0]!.seenAtMs),
    seenAt: ({ senders }) => iso(senders[0]!.seenAtMs),
  },
  HeldDeletions: {
    subscriptions: (world, { origin }) => heldOf(world, origin).length,
    since: (world, { origin }) => iso(Math.min(...heldOf(world, origin))),
  },
  // who has left, and why, is compared by itself (`compareLosses`)
  Loss: {
    subscription: (_world, { subscription }) => subscription,
    at: (_world, { at }) => at,
    reason: (_world, { reason }) => reason,
  },
  LossCount: {
    reason: (_world, { reason }) => reason,
    subscriptions: (_world, { subscriptions }) => subscriptions,
  },
  CheckedRemoval: {
    removedAt: () => undefined,
    subscriptions: ({ people }) =>
      people.filter((person) => person.isStored && person.user === 'user-b').length,
  },
  DecidedDeletions: { subscriptions: ({ done }) => done },
  StandingAlarm: {
    rank: (world, { id }) => alarmOf(world, id).rank,
    since: (world, { id }) => time(alarmOf(world, id).sinceMs),
    count: (world, { id }) => alarmOf(world, id).count,
    unit: (world, { id }) =>
      ({
        'no-worker': lateTimes(world).broadcasts.length > 0 ? 'broadcast' : 'schedule',
        'deletions-held': 'subscription',
        unreachable: 'machine',
      })[String(id).split(':')[0]!] ?? 'message',
    isAtLeast: () => false,
    broadcasts: (world, { id }) => alarmOf(world, id).broadcasts,
    acknowledgement: (world, { id }) => {
      const { acknowledgedAtMs } = alarmOf(world, id);
      return acknowledgedAtMs && { operator: 'tester', note: 'I know', at: iso(acknowledgedAtMs) };
    },
  },
  VapidKey: { state: () => 'current' },
  AuditRecord: {
    id: ({ audited }, { id }) => (Number(id) <= audited.length ? id : 'one of those that were made'),
    at: ({ audited }, { id }) => iso(audited[Number(id) - 1]!.atMs),
    status: ({ audited }, { id }) => audited[Number(id) - 1]!.status,
  },
  RemovedPerson: Object.fromEntries(
    removedNames.map((name) => [name, ({ removed }: World) => removed[name]]),
  ),
  // what a push service answers at that moment
  SentMessage: Object.fromEntries(
    ['id', 'outcome', 'status', 'retryAfterSeconds'].map((name) => [name, () => undefined]),
  ),
};

const plain = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value));

/** @param thing its schema: figures in it must have an oracle, other members may */
export function checkThing(at: string, world: World, oracles: ApiOracle, thing: Schema, item: Json): void {
  const model = modelOf(thing)!;
  world.models.add(model);
  for (const name of new Set([...figuresIn(thing), ...Object.keys(oracles[model] ?? {})])) {
    const member = oracles[model]?.[name];
    const place = `${at}: ${model}.${name} of ${JSON.stringify(item['id'] ?? item['origin'] ?? item['subscriptionId'])}`;
    world.expect(place, () => {
      assert.ok(member, 'has no oracle');
      assert.deepEqual(plain(item[name]), plain(member(world, item)));
    });
  }
}
