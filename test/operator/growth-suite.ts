// Nothing that is done again and again costs more because more is stored. Each statement that a worker, a service and the
// console make is counted where the driver runs it, what functions and triggers do included: with few rows and with many, after
// plans are warm. No clock is read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import type { Lease, SliceLease } from '../../src/store/leases.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey, workerReport } from '../store/made-up-subscription.ts';
import { createMatching, madeUpBroadcast, madeUpSchedule } from '../store/store-under-test.ts';
import type { Asked } from './collect-routes.ts';
import { signIn } from './console-visitor.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

/** What statements cost: pages of the database, or steps of its machine. */
export interface Cost {
  readonly cost: number;
  /** So much more is the depth of indexes, or chance. */
  readonly mayGrowBy: number;
}

/** What there is of each kind; rows are added up to it. */
export interface Size {
  readonly subscriptions: number;
  readonly open: number;
  readonly past: number;
}

export interface GrowthMeter {
  fill(store: Store, from: Size, to: Size): Promise<void>;
  /** Removes former versions of rows, where updates leave them: the more, the busier the machine is. */
  clean?(store: Store): Promise<void>;
  /** Counts what is run from now on. @returns ends that; the most that each statement has cost */
  measure(): () => ReadonlyMap<string, Cost>;
}

/** What differs between the databases. */
interface Dialect {
  /** A table `n` of the numbers `i` after the first one, through the last one. */
  series(first: number, last: number): string;
  bytes(hex: string): string;
  /** What lets a statement choose ids. */
  readonly overriding: string;
}

/** Statements that give people data, and add what belongs to the broadcasts in the temporary table `made`. */
export function insertsOf(from: Size, to: Size, { series, bytes, overriding }: Dialect): string {
  const nowMs = Date.now();
  const hour = 3_600_000;
  const slices = to.subscriptions / 2000;
  const payload = Buffer.from('{"title":"Hello","message":"World"}').toString('hex');
  const outcomes = ['accepted', 'retry', 'rejected', 'gone'].map((name) => `select '${name}' as outcome`);
  return `
    insert into people (user_name, data, updated_at_ms)
      select 'user-' || i, '{"name":"Ada"}', 1 from ${series(from.subscriptions, to.subscriptions)};
    insert into broadcasts (id, content_hash, state, payload, ttl_seconds, urgency, rows_in, audience, created_at_ms,
        start_at_ms, expires_at_ms, finished_at_ms, attempts_dropped_at_ms, removals_after) ${overriding}
      select id, ${bytes('00')},
        case when not is_open then case i % 2 when 1 then 'done' else 'cancelled' end
             when i % 10 = 0 then 'paused' else 'running' end,
        ${bytes(payload)}, 3600, 'normal', 'all', 20000, ${nowMs},
        ${nowMs} + case when is_open and i % 10 > 6 then ${hour} else -${hour} end, ${nowMs + 2 * hour},
        case when not is_open then ${nowMs - 1000} end, case when not is_open then 1 end, 0
      from made;
    insert into slices (broadcast_id, number, cursor, through_position)
      select id, n.i - 1, n.i * 900, (n.i + 1) * 900 from made cross join ${series(0, slices)} where is_open;
    insert into retries (broadcast_id, position, due_at_ms, attempts, deferrals, expires_at_ms)
      select id, n.i, ${nowMs + hour}, 1, 0, ${nowMs + 2 * hour} from made cross join ${series(0, 10)} where is_open;
    insert into origin_counts (broadcast_id, shard, origin, attempts, accepted, gone, rejected, expired, exhausted)
      select id, 0, 'https://fcm.googleapis.com', 10, 8, 1, 1, 0, 0 from made;
    insert into answers (broadcast_id, id, origin, outcome, status)
      select id, 5, 'https://fcm.googleapis.com', 'rejected', 400 from made;
    insert into answer_counts (broadcast_id, answer_id, shard, rows, last_at_ms) select id, 5, 0, 1, 1 from made;
    insert into attempt_sets (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
      select id, 1, 1, 'rejected', 1, 5, 1, 3, 2, ${bytes('0102')} from made
      union all select 1, 1, 1, outcome, 1, 5, 1, 3, 2, ${bytes('0102')}
      from (${outcomes.join(' union all ')}) o cross join ${series(0, 200)} where ${from.open} = 0;
    insert into receipts (broadcast_id, subscription_id, event)
      select id, n.i, 'shown' from made cross join ${series(0, 20)};
    insert into person_reaches (person, broadcast_id, at_ms, is_accepted)
      select 'user:user-' || n.i, id, ${nowMs}, true from made cross join ${series(0, 5)};
    insert into audit (at_ms, operator, action) select ${nowMs}, 'ann', 'broadcast.pause' from made;`;
}

const nothing: Size = { subscriptions: 0, open: 0, past: 0 };
/** As many broadcasts as a page or a search looks at, at most, so that lists are as long before as after. */
const few: Size = { subscriptions: 20_000, open: 60, past: 600 };
const many: Size = { subscriptions: 200_000, open: 500, past: 2000 };
/** After five times, PostgreSQL may go on with a plan for all values. */
const warmUps = 6;

/** The least of them counts: what else the database does at that time may cost pages, too. */
const measuredRounds = 3;

/** What is left out, and why. */
const mayGrow: readonly (readonly [part: string, why: string])[] = [
  ['coalesce(sum(b.audience', 'what running broadcasts have left is added up by broadcast'],
  ['waiting_rows w join', 'what running broadcasts have left is added up by broadcast'],
  ['s.first_id <=', 'of one broadcast, the sets are looked through that may have the subscription'],
  [
    'where broadcast_id = 0) i where width_ms',
    'intervals of ten seconds since the test began, which the service counts in',
  ],
  [') as scheduled', 'open broadcasts are counted, each by its entry in an index'],
  [') as begun', 'the first twenty in each of five indexes, by chance the same broadcasts or others'],
  ['audiences a', 'housekeeping looks at each audience that is kept for its broadcast'],
  ['delete from deskbell.audience_members', 'up to 2,000 rows of a list that no broadcast uses'],
];

export function describeGrowth(name: string, meter: GrowthMeter): void {
  test(`on ${name} nothing that is done again and again costs more because more is stored`, async (t) => {
    const operator = await startOperator(t);
    const visitor = await signIn(operator);
    await operator.store.schedules.add(madeUpSchedule());
    await operator.store.bells.add({ name: '1', audience: 'all', secretHash: new Uint8Array(32) });
    const run = async (round: number): Promise<void> => {
      await work(operator.store, round);
      await serve(operator.store, round);
      await visitAll(operator, visitor.cookie);
    };
    const costs = async (from: Size, to: Size): Promise<ReadonlyMap<string, Cost>> => {
      await meter.fill(operator.store, from, to);
      for (let round = 0; round < warmUps; round += 1) {
        // before the last: sessions read the catalogue again after it
        if (round === warmUps - 1) await meter.clean?.(operator.store);
        await run(to.open * 100 + round);
      }
      const least = new Map<string, Cost>();
      for (let round = warmUps; round < warmUps + measuredRounds; round += 1) {
        const end = meter.measure();
        await run(to.open * 100 + round);
        for (const [sql, cost] of end()) {
          if (cost.cost < (least.get(sql)?.cost ?? Number.POSITIVE_INFINITY)) least.set(sql, cost);
        }
      }
      return least;
    };
    const before = await costs(nothing, few);
    const after = await costs(few, many);
    assert.ok(after.size > 60, `only ${after.size} statements were counted`);
    const grown = [...after].flatMap(([sql, { cost }]) => {
      const former = before.get(sql);
      if (former === undefined || cost <= former.cost + former.mayGrowBy) return [];
      if (mayGrow.some(([part]) => sql.includes(part))) return [];
      return [
        `${former.cost} (+${former.mayGrowBy}) → ${cost}: ${sql.replaceAll(/\s+/g, ' ').slice(0, 500)}`,
      ];
    });
    assert.deepEqual(grown, []);
  });
}

const leaseMs = 10_000;
const origin = 'https://fcm.googleapis.com';

/** Leases, reads and commits of all kinds, from a broadcast of its own and from the others. */
async function work(store: Store, round: number): Promise<void> {
  const { broadcasts, leases, ledger } = store;
  const nowMs = Date.now();
  const first = 1_000_000 + round * 100;
  const rows = Array.from({ length: 20 }, (_, index) => madeUpSubscription(first + index));
  await store.subscriptions.putAll(
    rows.map((subscription) => ({ subscription, vapidPublicKey, assign: { user: `of-${round}` } })),
  );
  const audienceId = await broadcasts.openAudience();
  await broadcasts.addToAudience(audienceId, rows);
  const { broadcast } = await broadcasts.create(
    madeUpBroadcast(nowMs, { audienceId, perPerson: '30/day', idempotencyKey: `key-${round}` }),
  );
  const { id } = broadcast;
  await broadcasts.findByKey(`key-${round}`);
  const page = await leases.leaseSlice({ leaseMs, broadcastId: id });
  assert.ok(page);
  await leases.renew(page, leaseMs);
  const half = await ledger.readRows(page, page.cursor, 5);
  const cursor = await commit(
    store,
    page,
    half,
    ['accepted', 'retry', 'gone', 'rejected', 'detached'],
    page.cursor,
  );
  const rest = await ledger.readRows(page, cursor, 100);
  await commit(store, page, rest, ['accepted'], cursor, page.throughPosition);
  const retries = await leases.leaseRetries({ leaseMs, broadcastId: id, limit: 10 });
  assert.ok(retries);
  await commit(store, retries, retries.rows, ['accepted']);
  await broadcasts.pause(id);
  await broadcasts.resume(id);

  const matching = { user: `of-${round}` };
  const toPerson = await createMatching(store, matching, madeUpBroadcast(nowMs));
  assert.equal(toPerson.recipients, rows.length);
  assert.equal(await broadcasts.findUnprepared(), undefined);
  const members = await leases.leaseSlice({ leaseMs, broadcastId: toPerson.id });
  assert.ok(members);
  await ledger.readRows(members, members.cursor, 100);
  await store.attempts.outcomesOf(toPerson.id, [members.cursor + 1]);
  await broadcasts.cancel(toPerson.id);

  // of all that are open
  const slice = await leases.leaseSlice({ leaseMs });
  assert.ok(slice);
  const read = await ledger.readRows(slice, slice.cursor, 100);
  assert.ok(read.length > 0);
  await commit(store, slice, read, ['accepted', 'retry'], slice.cursor);
  await leases.release(slice);
  await leases.leaseRetries({ leaseMs, limit: 10 });
  const stopped = AbortSignal.abort();
  await leases.waitForWork({ signal: stopped });
  await leases.waitForWork({ broadcastId: id, signal: stopped });
  await ledger.pushServices();
  await store.rates.take({ origin, perSecond: 10, wanted: 3, rateLimited: 1 });
  await store.senders.put({ ...workerReport, id: `sender-${round}`, startedAtMs: nowMs });
  await store.senders.list();
  await broadcasts.cancel(id);
  await store.schedules.takeDue(leaseMs);
  await store.retention.prune({
    broadcastsBeforeMs: 1,
    attemptsBeforeMs: 1,
    auditBeforeMs: 1,
    contactsBeforeMs: 1,
  });
}

/** @param results in turn. @returns where the cursor stands */
async function commit(
  { ledger }: Store,
  lease: Lease & Partial<Pick<SliceLease, 'slice'>>,
  rows: readonly Recipient[],
  results: readonly RowResult['result'][],
  fromCursor = 0,
  cursor = rows.at(-1)?.position ?? fromCursor,
): Promise<number> {
  const expiresAtMs = Date.now() + 3_500_000;
  const answer = await ledger.commit({
    broadcastId: lease.broadcastId,
    fenceToken: lease.fenceToken,
    ...(lease.slice !== undefined && { slice: { number: lease.slice, fromCursor, cursor } }),
    rows: rows.map((recipient, index) => {
      const result = results[index % results.length]!;
      const record = { atMs: Date.now(), attempt: 1, status: 201 };
      const delayMs = result === 'retry' ? 0 : 3_000_000;
      const retry = { delayMs, attempts: 1, deferrals: 0, expiresAtMs };
      const isOpen = result === 'retry' || result === 'detached';
      return { recipient, origin, attempts: 1, result, record, ...(isOpen && { retry }) };
    }),
    answers: [
      { origin, vapidPublicKey, accepted: 1, hasRefused: false, refusalsInRow: 0, acceptedSubscriptionId: 5 },
    ],
    leaseMs,
  });
  assert.equal(answer.isLeaseLost, false);
  return cursor;
}

/** What browsers and applications ask of a service. */
async function serve(store: Store, round: number): Promise<void> {
  const { subscriptions, people } = store;
  const fresh = madeUpSubscription(2_000_000 + round);
  const registration = { subscription: fresh, vapidPublicKey, language: 'de', timeZone: 'UTC' };
  const { id } = await subscriptions.register(registration);
  await subscriptions.register(registration);
  await subscriptions.findByEndpoint(fresh.endpoint);
  await subscriptions.findById(id);
  await people.assign(id, { user: 'ada', tags: ['news'] });
  await people.changeTags(id, { add: ['tea'] });
  const row = (await subscriptions.findById(id))!;
  await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  await store.readers.choose(row, { news: false });
  await store.readers.choose({ ...row, user: undefined }, { news: false });
  await store.readers.factsOf([row]);
  // who has receipts of every broadcast
  await store.readers.factsOf([(await subscriptions.findById(3))!], 10);
  await store.readers.dataOf([row]);
  await people.signOut(fresh.endpoint, fresh.auth);
  await subscriptions.removeByEndpoint(fresh.endpoint, fresh.auth);
  await store.clientRequests?.count('192.0.2.1 register', 60_000);
  await store.vapidKeys.current();
  await store.check();
}

/** Every page and list. Its parameters are 1: the first broadcast, the first subscription. */
async function visitAll(operator: RunningOperator, cookie: string): Promise<void> {
  for (const path of [...pathsOf(operator.routes), ...filtered]) await visit(operator, cookie, path);
}

const pathsOf = (routes: readonly Asked[]): readonly string[] =>
  routes
    .filter(({ method, path }) => method === 'GET' && !/\.\w+$|sign-in|^\/ring/.test(path))
    .map(({ path }) => path + (required[path] ?? ''));

const required: Readonly<Record<string, string>> = {
  '/console/people/remove': '?user=user-3',
  '/v1/people/1/removal': '?receipt=x',
  '/console/bells/show': '?name=1',
  '/console/bells/remove': '?name=1',
  '/console/bells/rotate': '?name=1',
};

/** Lists with their filters. */
const filtered = [
  '/console/broadcasts/1?user=user-3&outcome=rejected',
  '/console/broadcasts/1?subscription=3',
  '/console/subscriptions?user=user-3',
  '/console/people?user=user-3',
  '/console/subscriptions?tagsAll=news&tagsNone=x',
  '/console/subscriptions?tagsAll=news,rare',
  '/console/subscriptions?pushService=fcm.googleapis.com',
  '/console/subscriptions?pushService=nobody.example',
  '/console/subscriptions?pushService=web.push.apple.com&tagsAll=news',
  '/console/send?audience=tags&tagsAll=news&tagsNone=x',
  '/console/audit?operator=ann',
  '/console/audit?operator=nobody&since=2026-01-01',
  '/console/audit?action=nothing',
  '/console/audit?before=5',
  '/console/?range=week',
  '/v1/broadcasts?limit=5',
  '/v1/broadcasts/1/attempts?outcome=rejected&limit=5',
  '/v1/broadcasts/1/outcomes?user=user-3',
  '/v1/people/user-3/outcomes',
  '/v1/people/user-3',
  '/v1/subscriptions?user=user-3',
  '/v1/subscriptions?tag=news&limit=5',
];

async function visit({ base, ask }: RunningOperator, cookie: string, path: string): Promise<void> {
  const stop = new AbortController();
  const options = { signal: stop.signal, headers: { cookie } };
  const response = path.startsWith('/console') ? await fetch(base + path, options) : await ask(path, options);
  // the first figures of a stream are as many as a page has
  for await (const _ of response.body ?? []) break;
  stop.abort();
  assert.equal(response.status, 200, path);
}
