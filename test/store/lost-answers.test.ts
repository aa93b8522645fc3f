// Calls whose answer PostgreSQL gave and nobody got: each is repeated, is done once, and says what it did.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { closing } from '../../tools/closing.ts';
import { readRows } from '../../tools/postgres-client.ts';
import { useSharedServer } from '../../tools/postgres-server.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { openProxy } from './postgres-proxy.ts';
import { addSubscriptions, answerCommit, madeUpBroadcast, madeUpSchedule } from './store-under-test.ts';

const getServer = useSharedServer();

const origin = 'https://push.example';
const subscription = madeUpSubscription(0);
const operator = { name: 'ada', role: 'full', tokenHash: new Uint8Array(32) } as const;
const put = (store: Store) =>
  store.subscriptions.put(subscription, vapidPublicKey, { assign: { user: 'ada', tags: [] } });

interface Call {
  readonly what: string;
  /** In the statement that does it. */
  readonly statement: string;
  readonly prepare?: (store: Store) => Promise<unknown>;
  readonly run: (store: Store) => Promise<unknown>;
  readonly expected: unknown;
}

const calls: readonly Call[] = [
  {
    what: 'an audit record is written once',
    statement: 'insert into deskbell.audit ',
    run: async ({ audit }) => {
      const id = await audit.begin({ operator: 'ada', action: 'broadcast.pause' });
      await audit.finish(id, { status: 200 });
      return (await audit.list({ limit: 10 })).map(({ status }) => status);
    },
    expected: [200],
  },
  {
    what: 'a channel is removed',
    statement: 'delete from deskbell.channels',
    prepare: (store) => store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true }),
    run: (store) => store.channels.remove('news'),
    expected: true,
  },
  {
    what: 'an operator is removed',
    statement: 'delete from deskbell.operators',
    prepare: (store) => store.operators.add(operator),
    run: (store) => store.operators.remove('ada'),
    expected: true,
  },
  {
    what: 'a schedule is added once',
    statement: 'insert into deskbell.schedules',
    run: async ({ schedules }) => {
      const { id } = await schedules.add(madeUpSchedule());
      return (await schedules.list()).filter((one) => one.id !== id);
    },
    expected: [],
  },
  {
    what: 'a schedule is removed',
    statement: 'delete from deskbell.schedules',
    prepare: (store) => store.schedules.add(madeUpSchedule()),
    run: async ({ schedules }) => schedules.remove((await schedules.list())[0]!.id),
    expected: true,
  },
  {
    what: 'a due schedule is taken',
    statement: 'update deskbell.schedules set lease_until_ms',
    prepare: (store) => store.schedules.add(madeUpSchedule({ nextAtMs: 0 })),
    run: async (store) => (await store.schedules.takeDue(60_000))?.nextAtMs,
    expected: 0,
  },
  {
    what: 'a subscription is removed by its id',
    statement: 'delete from deskbell.subscriptions',
    prepare: put,
    run: async ({ subscriptions }) =>
      subscriptions.removeById((await subscriptions.findByEndpoint(subscription.endpoint))!.id),
    expected: true,
  },
  {
    what: 'a subscription is removed by its endpoint',
    statement: 'delete from deskbell.subscriptions',
    prepare: put,
    run: (store) => store.subscriptions.removeByEndpoint(subscription.endpoint, subscription.auth),
    expected: true,
  },
  {
    what: 'the subscriptions of a person who is removed are counted',
    statement: 'delete from deskbell.subscriptions',
    prepare: put,
    run: async (store) => (await store.people.remove('ada')).subscriptions,
    expected: 1,
  },
  {
    what: 'held deletions that are confirmed are counted',
    statement: 'delete from deskbell.subscriptions',
    prepare: async (store) => {
      await addSubscriptions(store, 200);
      const answers = Array.from({ length: 200 }, (_, index) => [madeUpSubscription(index), 'gone'] as const);
      await store.ledger.recordAnswers(answerCommit(origin, answers));
    },
    run: (store) => store.heldDeletions.confirm(origin),
    expected: 200,
  },
  {
    what: 'answers to single messages are counted once',
    statement: 'record_single_answers',
    prepare: (store) => addSubscriptions(store, 2),
    run: async ({ ledger, statistics }) => {
      const answers = [
        [madeUpSubscription(0), 'gone'] as const,
        [madeUpSubscription(1), 'accepted'] as const,
      ];
      await ledger.recordAnswers(answerCommit(origin, answers));
      return (await statistics.outcomeTotals()).map(({ attempts, gone }) => [attempts, gone]);
    },
    expected: [[2, 1]],
  },
  {
    what: 'a push service that nobody has listed is added',
    statement: 'insert into deskbell.unlisted_push_services',
    run: (store) => store.unlisted.add(origin, 10),
    expected: 'added',
  },
  {
    what: 'broadcasts that are resumed with the sending are named',
    statement: 'delete from deskbell.sending_pause',
    prepare: async (store) => {
      await put(store);
      await store.broadcasts.create(madeUpBroadcast(store.now()));
      await store.sending.pause('asked');
    },
    run: async (store) => (await store.sending.resume({ withBroadcasts: true })).length,
    expected: 1,
  },
];

describe('where the answer of PostgreSQL to a statement or to its commit is lost', () => {
  for (const { what, statement, prepare, run, expected } of calls) {
    test(what, async (t) => {
      const server = await getServer();
      for (const text of [statement, 'commit\0']) {
        const database = await server.createDatabase();
        t.after(() => database.remove());
        await using proxy = await openProxy(database.url);
        await using store = closing(await openPostgresStore({ url: proxy.url, maxConnections: 1 }));
        await prepare?.(store);
        proxy.loseAnswerTo(text);
        assert.deepEqual(await run(store), expected);
        assert.equal(proxy.lostAnswers(), 1);
      }
    });
  }
});

test('PostgreSQL keeps no id of a call whose answer has come', async (t) => {
  const server = await getServer();
  const database = await server.createDatabase();
  t.after(() => database.remove());
  const store = await openPostgresStore({ url: database.url });
  t.after(() => store.close());
  for (let count = 0; count < 20; count += 1) {
    await store.audit.begin({ operator: 'ada', action: 'broadcast.pause' });
  }
  const rows = await readRows(database.url, 'select id from deskbell.commits');
  assert.equal(rows.length, 1, 'but the last one');
});
