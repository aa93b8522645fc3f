// The brake on deletions, whatever database is behind the store: subscriptions that their push service calls gone are
// deleted in a normal run, and kept for an operator where the push service accepts almost nothing.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import {
  addSubscriptions,
  answerCommit,
  commitNext,
  commitPage,
  commitRows,
  leaseNext,
  madeUpBroadcast,
  openForEachTest,
  openList,
  recordAnswer,
  removeSubscriptions,
  withResult,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const leaseMs = 10_000;

type Answer = 'accepted' | 'gone' | 'rejected' | 'refused';

const forbidden = { atMs: 0, attempt: 1, status: 403, reason: 'vapid-refused' } as const;

/** So many whole numbers from the first on. */
const range = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

/** Of a push service to single messages: so many are gone from one on, and others accepted. */
const answersAt = (at: string, first: number, gone: number, accepted: number) =>
  answerCommit(at, [
    ...Array.from({ length: accepted }, () => [madeUpSubscription(9999), 'accepted'] as const),
    ...range(first, gone).map((index) => [madeUpSubscription(index), 'gone'] as const),
  ]);

describe(`held deletions: ${databaseName()}`, () => {
  const origin = 'https://push.example';
  let nowMs = 1_800_000_000_000;

  const store = openForEachTest(() => nowMs);

  const workedWell = async (answers = 400) => {
    for (let count = 0; count < answers; count += 1) await answerOne(9999, 'accepted');
  };

  const answerOne = (index: number, answer: Answer) =>
    recordAnswer(store, madeUpSubscription(index), answer === 'rejected' ? 'other' : answer, origin);

  const detached = { delayMs: leaseMs, attempts: 0, deferrals: 0, expiresAtMs: nowMs + 3_600_000 };

  /**
   * Sends a broadcast to all, commits its answers in pages, and gives the broadcast as it is then.
   *
   * @param options `areDetached`: the answers come after their page, as those to rows that are tried again do
   */
  const broadcast = async (
    answerOf: (recipient: Recipient, index: number) => Answer,
    {
      pageRows = 50,
      areDetached = false,
      afterPage = async () => {},
    }: { pageRows?: number; areDetached?: boolean; afterPage?(): Promise<void> } = {},
  ) => {
    const { broadcast: created } = await store.broadcasts.create(
      madeUpBroadcast(nowMs, { sliceRows: 100_000 }),
    );
    const slice = await leaseNext(store, created.id);
    const rows = await store.ledger.readRows(slice, slice.cursor, 100_000);
    let fromCursor = slice.cursor;
    for (let first = 0; first < rows.length; first += pageRows) {
      const page = rows.slice(first, first + pageRows);
      const isLast = first + pageRows >= rows.length;
      const cursor = isLast ? slice.throughPosition : (page.at(-1)?.position ?? 0);
      const answered = page.map((recipient, index): RowResult => {
        const result = answerOf(recipient, first + index);
        if (result !== 'refused') return { recipient, origin, attempts: 1, result };
        return {
          recipient,
          origin,
          attempts: 1,
          result: 'rejected',
          record: { ...forbidden, detail: '' },
        };
      });
      const waiting = page.map(withResult(origin, 'detached', { attempts: 0, retry: detached }));
      await commitPage(store, slice, areDetached ? waiting : answered, { fromCursor, cursor });
      if (areDetached) await commitRows(store, slice, answered);
      fromCursor = cursor;
      await afterPage();
    }
    const ended = await store.broadcasts.find(created.id);
    assert.equal(ended?.state, 'done');
    return ended;
  };

  const held = async () => (await store.heldDeletions.list())[0]?.subscriptions ?? 0;

  for (const pageRows of [7, 2000]) {
    test(`a push service that calls 2,000 of 2,000 gone deletes none, in pages of ${pageRows}`, async () => {
      await workedWell();
      await addSubscriptions(store, 2000);
      const { counts, alarms } = await broadcast(() => 'gone', {
        pageRows,
        afterPage: async () => assert.equal(await store.subscriptions.count(), 2000),
      });
      assert.equal(counts.gone, 2000, 'marked rows count as gone');
      assert.equal(await store.subscriptions.count(), 2000);
      assert.deepEqual(await store.heldDeletions.list(), [{ origin, subscriptions: 2000, sinceMs: nowMs }]);
      assert.deepEqual(pluck(alarms, 'origin', 'reason', 'rows'), [[origin, 'deletions-held', 2000]]);
    });
  }

  test('refusals of our token say nothing of subscriptions: what is gone beside them is deleted', async () => {
    await addSubscriptions(store, 1000);
    const { counts, alarms } = await broadcast((_, index) =>
      index % 20 === 0 ? 'gone' : index % 50 === 1 ? 'accepted' : 'refused',
    );
    assert.deepEqual([counts.gone, counts.accepted], [50, 20]);
    assert.deepEqual([await store.subscriptions.count(), await held(), alarms], [950, 0, []]);

    for (let index = 0; index < 30; index += 1) await answerOne(1, 'accepted');
    for (let index = 0; index < 900; index += 1) await answerOne(2, 'refused');
    for (let index = 60; index < 90; index += 1) await answerOne(index, 'gone');
    assert.equal(await held(), 0);
  });

  test('a normal run deletes what is gone, few or many', async () => {
    for (const [everyNth, areDetached] of [
      [2, true],
      [100, false],
      [2, false],
    ] as const) {
      await addSubscriptions(store, 1000);
      const answerOf = (_: Recipient, index: number) => (index % everyNth === 0 ? 'gone' : 'accepted');
      const { counts, alarms } = await broadcast(answerOf, { areDetached });
      assert.equal(counts.gone, 1000 / everyNth);
      assert.equal(await store.subscriptions.count(), 1000 - 1000 / everyNth);
      assert.deepEqual(alarms, []);
      assert.deepEqual(await store.heldDeletions.list(), []);
    }
  });

  for (const [accepted, isTrusted] of [
    [5, true],
    [4, false],
  ] as const) {
    const outcome = isTrusted ? 'loses those it calls gone' : 'has them held';
    test(`a push service that accepts ${accepted} of each hundred ${outcome}`, async () => {
      await addSubscriptions(store, 1000);
      await broadcast((_, index) => (index % 100 < 100 - accepted ? 'gone' : 'accepted'), {
        pageRows: 100,
      });
      assert.equal(await store.subscriptions.count(), isTrusted ? 50 : 1000);
      assert.equal(await held(), isTrusted ? 0 : 960);
    });
  }

  test('the few answers at the end of a run are judged with those before', async () => {
    await addSubscriptions(store, 614);
    const { counts, alarms } = await broadcast(
      (_, index) => (index >= 600 || (index >= 500 && index < 516) ? 'gone' : 'accepted'),
      { pageRows: 100 },
    );
    assert.equal(counts.gone, 30);
    assert.equal(await store.subscriptions.count(), 584);
    assert.deepEqual(alarms, []);
  });

  test('nineteen that are gone are few, twenty are not', async () => {
    for (const [rows, kept] of [
      [19, 0],
      [20, 20],
    ] as const) {
      await addSubscriptions(store, rows);
      await broadcast(() => 'gone');
      assert.equal(await store.subscriptions.count(), kept);
      assert.equal(await held(), kept);
      await workedWell();
    }
    await removeSubscriptions(store);
    for (const kept of [0, 15]) {
      await addSubscriptions(store, 15);
      await broadcast(() => 'gone');
      assert.equal(await store.subscriptions.count(), kept, 'those of two broadcasts in turn are not few');
    }
  });

  test('an outage in the middle of a broadcast deletes none of those it was meant for', async () => {
    await addSubscriptions(store, 1000);
    const { counts } = await broadcast((_, index) => (index >= 350 && index < 800 ? 'gone' : 'accepted'));
    assert.equal(counts.gone, 450);
    assert.equal(await store.subscriptions.count(), 1000);
    assert.equal(await held(), 450);
  });

  /** Eight workers send to 300 each, in three pages at once: pages of a round are committed together, one comes late. */
  const turnToGone = async (turn: (worker: number, row: number) => boolean) => {
    await addSubscriptions(store, 2400);
    const { broadcast: created } = await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 300 }));
    const workers = await Promise.all(
      range(0, 8).map(async () => {
        const slice = await leaseNext(store, created.id);
        return { slice, rows: await store.ledger.readRows(slice, slice.cursor, 300) };
      }),
    );
    const commit = ({ slice, rows }: (typeof workers)[number], worker: number, round: number) => {
      const cursorAfter = (count: number) => rows[count - 1]?.position ?? slice.cursor;
      const results = rows.slice(100 * round, 100 * round + 100).map((recipient, index): RowResult => {
        const isGone = turn(worker, 100 * round + index);
        const record = { atMs: nowMs + 100 * round + index, attempt: 1 };
        return { recipient, origin, attempts: 1, result: isGone ? 'gone' : 'accepted', record };
      });
      const cursor = round === 2 ? slice.throughPosition : cursorAfter(100 * round + 100);
      return commitPage(store, slice, results, { fromCursor: cursorAfter(100 * round), cursor });
    };
    const late = workers[7]!;
    await Promise.all(workers.slice(0, 7).map((each, worker) => commit(each, worker, 0)));
    await Promise.all(workers.slice(0, 7).map((each, worker) => commit(each, worker, 1)));
    await commit(late, 7, 0);
    await commit(late, 7, 1);
    return {
      id: created.id,
      end: async () => {
        await Promise.all(workers.map((each, worker) => commit(each, worker, 2)));
      },
    };
  };

  test('a push service that calls all gone from the middle of a broadcast on deletes none, also if it ends then', async () => {
    for (const endsEarly of [true, false]) {
      // each worker meets it in another place of its second page
      const { id, end } = await turnToGone((worker, row) => row >= 100 + 12 * worker);
      if (endsEarly) await store.broadcasts.cancel(id);
      await end();
      const { counts, alarms } = await store.broadcasts.get(id);
      assert.equal(counts.gone, 1264);
      assert.deepEqual([await store.subscriptions.count(), await held()], [2400, 1264]);
      assert.deepEqual(pluck(alarms, 'reason', 'rows'), [['deletions-held', 1264]]);
      await removeSubscriptions(store);
    }
  });

  test('of eight workers at once, those that are gone in a normal run are deleted', async () => {
    const { id, end } = await turnToGone((worker, row) => (row + worker) % 25 === 0);
    await end();
    const { counts, alarms } = await store.broadcasts.get(id);
    assert.deepEqual([counts.gone, await held(), alarms], [96, 0, []]);
    assert.equal(await store.subscriptions.count(), 2400 - 96);
  });

  test('marked rows stay in later audiences; an acceptance clears the mark', async () => {
    for (const areDetached of [false, true]) {
      await addSubscriptions(store, 500);
      await broadcast(() => 'gone', { areDetached });
      assert.equal(await held(), 500);
      const { recipients, counts } = await broadcast((_, index) => (index % 10 === 0 ? 'gone' : 'accepted'), {
        areDetached,
      });
      assert.equal(recipients, 500);
      assert.equal(counts.accepted, 450);
      assert.deepEqual(await store.heldDeletions.list(), []);
      assert.equal(await store.subscriptions.count(), 450, 'who is gone in a normal run as well is deleted');
    }
  });

  test('a held subscription that is removed is lost for that reason', async () => {
    await addSubscriptions(store, 30);
    await broadcast(() => 'gone');
    const [{ id } = assert.fail()] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    assert.equal(await store.subscriptions.removeById(id), true);
    const [loss] = await store.losses.list({ limit: 1 });
    assert.deepEqual([loss?.subscriptionId, loss?.reason], [id, 'removed']);
  });

  test('an operator confirms or discards, for one origin', async () => {
    await addSubscriptions(store, 40);
    const { alarms } = await broadcast(() => 'gone');
    const remedy = `until you run "deskbell held-deletions confirm ${origin}" or "discard"`;
    assert.ok(alarms[0]!.detail.endsWith(remedy), alarms[0]!.detail);
    assert.equal(await store.heldDeletions.confirm('https://other.example'), 0);
    const sinceMs = nowMs;
    nowMs += 1000;
    await addSubscriptions(store, 25, 40);
    await broadcast(() => 'gone');
    await addSubscriptions(store, 20, 65);
    const other = 'https://other.example';
    const goneThere = range(65, 20).map((index) => [madeUpSubscription(index), 'gone'] as const);
    await store.ledger.recordAnswers(answerCommit(other, goneThere));
    assert.deepEqual(await store.heldDeletions.list(), [
      { origin: other, subscriptions: 20, sinceMs: nowMs },
      { origin, subscriptions: 65, sinceMs },
    ]);
    assert.equal(await store.heldDeletions.discard(origin), 65);
    assert.equal(await store.subscriptions.count(), 85);
    assert.equal(await store.heldDeletions.confirm(other), 20);
    assert.deepEqual(await store.heldDeletions.list(), []);
    await broadcast(() => 'gone');
    assert.equal(await store.heldDeletions.confirm(origin), 65);
    assert.equal(await store.subscriptions.count(), 0);
  });

  test('what waits to be judged at one push service does not matter at another one', async () => {
    await addSubscriptions(store, 35);
    await store.ledger.recordAnswers(answersAt(origin, 0, 30, 50));
    assert.equal(await store.subscriptions.count(), 35, 'they wait');
    await store.ledger.recordAnswers(answersAt('https://other.example', 30, 5, 0));
    assert.equal(await store.subscriptions.count(), 30, 'these are few');
    assert.equal(await held(), 0);
  });

  test('what is confirmed or discarded is what is held, and not what is marked beside it', async () => {
    for (const decide of ['confirm', 'discard'] as const) {
      await addSubscriptions(store, 40);
      await broadcast(() => 'gone');
      await store.subscriptions.put(madeUpSubscription(1000), vapidPublicKey);
      await workedWell(50);
      await answerOne(1000, 'gone');
      assert.ok(await store.subscriptions.findByEndpoint(madeUpSubscription(1000).endpoint), 'it is marked');
      assert.equal(await store.heldDeletions[decide](origin), 40);
      assert.equal(await store.subscriptions.count(), decide === 'confirm' ? 1 : 41);
      // its mark is still judged: this deletes it
      await addSubscriptions(store, 300, 2000);
      await broadcast(({ endpoint }) =>
        endpoint === madeUpSubscription(1000).endpoint ? 'rejected' : 'accepted',
      );
      assert.equal(await store.subscriptions.findByEndpoint(madeUpSubscription(1000).endpoint), undefined);
      await removeSubscriptions(store);
    }
  });

  test('all that is held is confirmed or discarded, also where it is more than one transaction deletes', async () => {
    await addSubscriptions(store, 6000);
    await broadcast(() => 'gone', { pageRows: 2000 });
    assert.equal(await store.heldDeletions.discard(origin), 6000);
    assert.equal(await store.subscriptions.count(), 6000);
    await broadcast(() => 'gone', { pageRows: 2000 });
    assert.equal(await store.heldDeletions.confirm(origin), 6000);
    assert.equal(await store.subscriptions.count(), 0);
    assert.deepEqual(await store.heldDeletions.list(), []);
  });

  test('answers that are neither accepted nor gone do not make a push service trusted', async () => {
    await addSubscriptions(store, 1000);
    await broadcast((_, index) => (index % 2 === 0 ? 'gone' : 'rejected'));
    // results without an answer of the push service are not counted; these have one
    assert.equal(await store.subscriptions.count(), 1000);
  });

  test('a single message that is answered gone deletes its subscription, with its own keys only', async () => {
    await addSubscriptions(store, 3);
    await answerOne(1, 'gone');
    assert.equal(await store.subscriptions.findByEndpoint(madeUpSubscription(1).endpoint), undefined);
    await answerOne(1, 'gone');
    for (const keys of [{ auth: new Uint8Array(16).fill(9) }, { p256dh: new Uint8Array(65).fill(9) }])
      await recordAnswer(store, { ...madeUpSubscription(2), ...keys }, 'gone', origin);
    await answerOne(0, 'accepted');
    assert.equal(await store.subscriptions.count(), 2, 'another one was registered again with other keys');
    await addSubscriptions(store, 4);
    const audienceId = await openList(store, [
      0,
      { ...madeUpSubscription(1), auth: new Uint8Array(16).fill(9) },
      { ...madeUpSubscription(2), p256dh: new Uint8Array(65).fill(9) },
    ]);
    const { broadcast: toList } = await store.broadcasts.create(madeUpBroadcast(nowMs, { audienceId }));
    await commitNext(store, withResult(origin, 'gone'), toList.id);
    const left = (await store.subscriptions.page({ afterId: 0, limit: 9 })).map(({ endpoint }) => endpoint);
    const kept = [1, 2, 3].map((index) => madeUpSubscription(index).endpoint);
    assert.deepEqual(left.toSorted(), kept.toSorted(), 'the same holds of a list');
  });

  test('single messages that are all answered gone delete fewer than twenty', async () => {
    await addSubscriptions(store, 300);
    for (let index = 0; index < 300; index += 1) await answerOne(index, 'gone');
    const deleted = 300 - (await store.subscriptions.count());
    assert.ok(deleted > 0 && deleted < 20, `${deleted} were deleted`);
    assert.ok((await held()) > 0, 'the others are for an operator');
  });

  /** Commits answers to single messages together. */
  const answerTogether = async (accepted: number, gone: readonly number[]) => {
    const answers = gone.map((index) => [madeUpSubscription(index), 'gone'] as const);
    const acceptances = Array.from(
      { length: accepted },
      () => [madeUpSubscription(9999), 'accepted'] as const,
    );
    await store.ledger.recordAnswers(answerCommit(origin, [...acceptances, ...answers]));
  };

  test('single messages that are all answered gone at once are held, whatever was accepted long before', async () => {
    for (const [accepted, rows] of [
      [400, 25],
      [5000, 250],
    ] as const) {
      await addSubscriptions(store, rows);
      await answerTogether(accepted, []);
      await answerTogether(0, range(0, rows));
      assert.equal(await held(), rows);
      assert.equal(await store.subscriptions.count(), rows);
      await removeSubscriptions(store);
    }
  });

  test('of single messages answered at once those that are gone are deleted, few or many', async () => {
    await addSubscriptions(store, 100);
    await answerTogether(50, range(0, 10));
    assert.equal(await store.subscriptions.count(), 90, 'they are few');
    await answerTogether(50, range(10, 30));
    assert.equal(await store.subscriptions.count(), 90, 'they wait for what is answered next');
    await workedWell(200);
    assert.equal(await store.subscriptions.count(), 60);
    assert.equal(await held(), 0);
    for (const first of [40, 55]) {
      await answerTogether(0, range(first, 15));
      assert.equal(await store.subscriptions.count(), 85 - first, 'few again, after it has worked well');
      await answerTogether(100, []);
    }
  });

  test('what was accepted shortly before counts, though nothing was marked then', async () => {
    await addSubscriptions(store, 25);
    for (let count = 0; count < 10; count += 1) await answerTogether(3, []);
    await answerTogether(0, range(0, 25));
    assert.equal(await held(), 0);
    await workedWell(200);
    assert.equal(await store.subscriptions.count(), 0);
  });

  test('an acceptance clears the mark of a subscription that is held', async () => {
    await addSubscriptions(store, 30);
    await answerTogether(0, range(0, 30));
    assert.equal(await held(), 30);
    await answerOne(7, 'accepted');
    assert.equal(await held(), 29);
    const audienceId = await openList(store, [8]);
    const { broadcast: toList } = await store.broadcasts.create(madeUpBroadcast(nowMs, { audienceId }));
    await commitNext(store, withResult(origin, 'accepted'), toList.id);
    assert.equal(await held(), 28, 'of a list');
    for (const index of range(9, 13)) await answerOne(index, 'accepted');
    await addSubscriptions(store, 1, 100);
    await answerOne(100, 'gone');
    assert.deepEqual([await held(), await store.subscriptions.count()], [15, 30], 'few, beside what is held');
  });

  test('a subscription that is gone twice is marked once', async () => {
    await addSubscriptions(store, 30);
    const [subscription] = await store.subscriptions.page({ afterId: 0, limit: 1 });
    const commit = answerCommit(origin, [
      [subscription!, 'gone'],
      [madeUpSubscription(0), 'gone'],
    ]);
    const [told] = commit.origins;
    const goneSubscriptions = [subscription!, subscription!];
    await store.ledger.recordAnswers({ ...commit, origins: [{ ...told!, goneSubscriptions }] });
    assert.equal(await store.subscriptions.count(), 29);
  });

  test('answers to broadcasts and to single messages are counted together', async () => {
    await addSubscriptions(store, 100);
    await broadcast((_, index) => (index < 15 ? 'gone' : 'rejected'));
    assert.equal(await store.subscriptions.count(), 85);
    for (let index = 15; index < 30; index += 1) await answerOne(index, 'gone');
    assert.equal(await store.subscriptions.count(), 81);
  });
});
