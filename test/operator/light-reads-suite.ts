// What pages and lists read does not grow with what is stored: each is asked for, and asked for again with as much stored
// once more; the statements that it made are run again by a program that counts the rows, or the steps, they take.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkExpression } from '../../src/audience/user-and-tags.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { createMatching, madeUpBroadcast } from '../store/store-under-test.ts';
import { signIn } from './console-visitor.ts';
import type { Asked } from './collect-routes.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

/** A statement and its values, as the driver was given them. */
export interface MadeStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface StatementMeter {
  readonly skip?: false | string;
  /** Notes the statements that are made from now on. @returns ends that, with what was made */
  record(): () => readonly MadeStatement[];
  /** Before counting, once rows have come. */
  settle(store: Store): Promise<void>;
  /** Rows visited or steps taken by each. */
  count(store: Store, statements: readonly MadeStatement[]): Promise<readonly number[]>;
}

/** More than what a search by push service looks at, at most. */
const peopleAtOnce = 11_000;
const broadcastsAtOnce = 600;
/** A look at each of the rows that came would be at least as many. */
const mayGrowBy = 2000;
const origin = 'https://fcm.googleapis.com';
const leaseMs = 10_000;

export function describeLightReads(name: string, meter: StatementMeter): void {
  const title = `on ${name} no page and no list reads more because more is stored`;
  test(title, { skip: meter.skip ?? false }, async (t) => {
    const operator = await startOperator(t);
    const { store } = operator;
    const visitor = await signIn(operator);
    const readAll = async (): Promise<ReadonlyMap<string, number>> => {
      const made: [path: string, statement: MadeStatement][] = [];
      for (const path of [...pathsOf(operator.routes), ...filtered]) {
        const end = meter.record();
        await visit(operator, visitor.cookie, path);
        for (const statement of end())
          if (/^\s*(?:select|with)\b/i.test(statement.sql)) made.push([path, statement]);
      }
      const counts = await meter.count(
        store,
        made.map(([, statement]) => statement),
      );
      const ofPaths = new Map<string, number>();
      for (const [index, [path]] of made.entries())
        ofPaths.set(path, (ofPaths.get(path) ?? 0) + counts[index]!);
      return ofPaths;
    };
    await addRows(store, 0);
    await meter.settle(store);
    const before = await readAll();
    await addRows(store, 1);
    await meter.settle(store);
    const after = await readAll();
    const grown = [...after].filter(([path, count]) => count - (before.get(path) ?? 0) > mayGrowBy);
    assert.deepEqual(grown, [], `before: ${JSON.stringify(grown.map(([path]) => before.get(path)))}`);
    assert.ok(after.size > 30, `only ${after.size} pages and lists were counted`);
  });
}

/** Every page and list. Its parameters are 1: the first broadcast, the first subscription. */
const pathsOf = (routes: readonly Asked[]): readonly string[] =>
  routes
    .filter(({ method, path }) => method === 'GET' && !/\.\w+$|sign-in/.test(path))
    .map(({ path }) => path);

/** Lists with their filters. A search for broadcasts looks at a bounded number of them by itself. */
const filtered = [
  '/console/broadcasts/1?user=user-3&outcome=rejected',
  '/console/broadcasts/1?subscription=3',
  '/console/subscriptions?user=user-3',
  '/console/subscriptions?tagsAll=news&tagsNone=x',
  '/console/subscriptions?tagsAll=news,rare',
  '/console/subscriptions?pushService=fcm.googleapis.com',
  '/console/subscriptions?pushService=nobody.example',
  '/console/?range=week',
  '/v1/broadcasts?limit=5',
  '/v1/broadcasts/1/attempts?outcome=rejected&limit=5',
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

/** As many again of all that there is: people, broadcasts, members of a list, retries, attempts, held deletions, audit. */
async function addRows(store: Store, round: number): Promise<void> {
  const first = round * peopleAtOnce;
  await store.subscriptions.putAll(
    Array.from({ length: peopleAtOnce }, (_, index) => ({
      subscription: madeUpSubscription(first + index),
      vapidPublicKey,
      assign: { user: `user-${first + index}`, tags: index === 7 ? ['news', 'rare'] : ['news'] },
    })),
  );
  const nowMs = Date.now();
  const sliceRows = peopleAtOnce;
  const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows }));
  const nobody = await store.broadcasts.openAudience();
  for (let index = 0; index < broadcastsAtOnce; index += 1) {
    await store.broadcasts.create(madeUpBroadcast(nowMs, { audienceId: nobody }));
    if (index % 3 === 0) await store.audit.begin({ operator: 'ann', action: 'broadcast.pause' });
  }
  await settle(store, broadcast.id);
  await createMatching(
    store,
    checkExpression({ tags: { all: ['news'] } }),
    madeUpBroadcast(nowMs + 3_000_000, { sliceRows: 50 }),
  );
}

/** Half of the rows wait for a retry, a quarter is gone, the others are refused. */
async function settle({ leases, ledger }: Store, broadcastId: number): Promise<void> {
  for (;;) {
    const slice = await leases.leaseSlice({ leaseMs, broadcastId });
    if (slice === undefined) return;
    const { fenceToken, slice: number, cursor: fromCursor, throughPosition: cursor } = slice;
    const rows = await ledger.readRows(slice, slice.cursor, peopleAtOnce);
    const results = ['retry', 'rejected', 'retry', 'gone'] as const;
    const retry = { delayMs: 3_000_000, attempts: 1, deferrals: 0, expiresAtMs: Date.now() + 3_500_000 };
    await ledger.commit({
      broadcastId,
      fenceToken,
      slice: { number, fromCursor, cursor },
      rows: rows.map((recipient, index) => {
        const result = results[index % 4]!;
        const record = { atMs: Date.now(), attempt: 1, status: 403, reason: 'refused' };
        return { recipient, origin, attempts: 1, result, record, ...(result === 'retry' && { retry }) };
      }),
      leaseMs,
    });
  }
}
