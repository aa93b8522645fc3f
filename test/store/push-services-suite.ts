// What every store must do about push services that refuse our token: suspend them, draw probes, release what was suspended
// back, for all workers together.
import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import type { Broadcast, NewBroadcast, Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { suspensionPolicy, type PushServiceAnswers } from '../../src/store/push-services.ts';
import type { RetryLease } from '../../src/store/leases.ts';
import { vapidPublicKey } from './made-up-subscription.ts';
import {
  addSubscriptions,
  commitNext,
  commitRows,
  commitSlice,
  leaseNext,
  madeUpBroadcast,
  openForSuite,
  withResult,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';

const leaseMs = 10_000;
const rows = 100;

describe(`push services that refuse: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  /** Another one in each test, so that none knows of the others. */
  let origin = '';
  let tests = 0;

  const store = openForSuite(() => nowMs);
  let anyBroadcastId = 0;
  before(async () => {
    await addSubscriptions(store, rows);
    anyBroadcastId = (await store.broadcasts.create(madeUpBroadcast(nowMs))).broadcast.id;
  });
  beforeEach(async () => {
    for (const { id, state } of await store.broadcasts.list({ limit: 100 })) {
      if (state === 'running') await store.broadcasts.cancel(id);
    }
    nowMs += 60_000;
    tests += 1;
    origin = `https://push-${tests}.example.org`;
  });

  /** A commit tells of answers, whatever rows it has. */
  const tellAll = (answers: readonly PushServiceAnswers[]) =>
    store.ledger.commit({ broadcastId: anyBroadcastId, fenceToken: '', rows: [], answers, leaseMs });
  const tell = ({ accepted = 0, refusalsInRow = 0, ...more }: Partial<PushServiceAnswers>) => {
    const hasRefused = refusalsInRow > 0;
    return tellAll([{ origin, vapidPublicKey, accepted, hasRefused, refusalsInRow, ...more }]);
  };
  const stateNow = async () => (await store.ledger.pushServices()).find((state) => state.origin === origin);
  /** The state of a push service that has accepted messages, and is open. */
  const openState = () => ({
    origin,
    vapidPublicKey,
    isSuspended: false,
    refusalsToSuspend: 20,
    hasAccepted: true,
    waitMs: 0,
  });

  /** @param drawOrderOf the row's place among those to be drawn */
  const heldBack =
    (drawOrderOf: (recipient: Recipient) => number) =>
    (recipient: Recipient): RowResult => ({
      recipient,
      origin,
      attempts: 0,
      result: 'heldBack',
      retry: { delayMs: 0, attempts: 0, deferrals: 0, expiresAtMs: nowMs + 1_800_000 },
      suspension: { vapidPublicKey, drawOrder: drawOrderOf(recipient) },
    });

  /** A broadcast to all, each row of which is held back, or would be. */
  const holdAll = async (
    drawOrderOf: (recipient: Recipient) => number = () => 0,
    changes: Partial<NewBroadcast> = {},
  ): Promise<Broadcast> => {
    const { broadcast } = await store.broadcasts.create(
      madeUpBroadcast(nowMs, { sliceRows: 1000, ...changes }),
    );
    await commitNext(store, heldBack(drawOrderOf), broadcast.id);
    return broadcast;
  };
  const leaseRetries = (broadcastId: number) =>
    store.leases.leaseRetries({ leaseMs, limit: 1000, broadcastId });
  /** Milliseconds until probes are drawn again. */
  const drawAgainAfter = async (): Promise<number> => {
    const broadcast = await holdAll();
    for (let waitedMs = 0; ; waitedMs += suspensionPolicy.probePauseMs) {
      if ((await leaseRetries(broadcast.id)) !== undefined) {
        await store.broadcasts.cancel(broadcast.id);
        return waitedMs;
      }
      nowMs += suspensionPolicy.probePauseMs;
    }
  };

  const find = async ({ id }: Broadcast) => (await store.broadcasts.find(id))!;
  const workState = (broadcastId: number) =>
    store.leases.waitForWork({ broadcastId, signal: AbortSignal.abort() });

  test('of push services that nobody has listed it is told which have accepted a message', async () => {
    assert.equal(await store.unlisted.add(origin, 100), 'added');
    assert.equal(await stateNow(), undefined);
    await tell({ accepted: 1 });
    assert.equal((await stateNow())?.hasAccepted, true);
    await store.unlisted.remove(origin);
    assert.equal(await stateNow(), undefined);
  });

  test('refusals of all workers together begin a hold, unless one message is accepted between them', async () => {
    await tell({ refusalsInRow: 10 });
    await tell({ refusalsInRow: 9 });
    assert.equal(await stateNow(), undefined);
    await tell({ accepted: 1, refusalsInRow: 9 });
    await tell({ refusalsInRow: 10 });
    assert.equal(await stateNow(), undefined);
    await tell({ refusalsInRow: 1 });
    assert.deepEqual(await stateNow(), { ...openState(), isSuspended: true });
    await tell({ vapidPublicKey: 'another key', refusalsInRow: 19 });
    assert.equal((await store.ledger.pushServices()).filter((state) => state.origin === origin).length, 1);
  });

  test('each hold that was wrong doubles the refusals that the next one takes, up to a bound', async () => {
    for (const refusalsToSuspend of [40, 80, 160, 320, 640, 640]) {
      await tell({ refusalsInRow: 640 });
      assert.equal((await stateNow())?.isSuspended, true);
      await tell({ accepted: 1 });
      assert.deepEqual(await stateNow(), { ...openState(), refusalsToSuspend });
    }
  });

  test('what one sender was asked to wait is known to all until it is over; the longest holds', async () => {
    await tell({ accepted: 1 });
    await tell({ accepted: 1, waitMs: 60_000 });
    await tell({ waitMs: 30_000 });
    nowMs += 20_000;
    const waiting = { ...openState(), waitMs: 40_000 };
    assert.deepEqual(await stateNow(), waiting);
    await tell({ accepted: 1 });
    assert.deepEqual(await stateNow(), waiting, 'an answer to what was sent before changes nothing');
    nowMs += 40_000;
    assert.equal(await stateNow(), undefined);
  });

  test('a wait that is longer than any is of a clock that was ahead: it is over, and the next one counts', async () => {
    await tell({ accepted: 1 });
    await tell({ accepted: 1, waitMs: 60_000 });
    nowMs -= 86_400_000;
    assert.equal(await stateNow(), undefined);
    await tell({ waitMs: 3_600_000 });
    assert.deepEqual(await stateNow(), { ...openState(), waitMs: 3_600_000 });
    nowMs += 86_400_000;
  });

  test('rows that are held back are counted, and not due before the end of their time', async () => {
    await tell({ refusalsInRow: 20 });
    const { suspendedRows: ofOthers } = await store.statistics.backlog();
    const broadcast = await holdAll();
    assert.equal((await store.statistics.backlog()).suspendedRows - ofOthers, rows);
    const { state, waiting, heldBack: held, counts } = await find(broadcast);
    assert.deepEqual([state, waiting, counts.pending, held], ['running', rows, rows, [{ origin, rows }]]);
    assert.equal(await leaseRetries(broadcast.id), undefined);
    assert.equal(await store.leases.leaseSlice({ leaseMs, broadcastId: broadcast.id }), undefined);
    assert.equal(await workState(broadcast.id), 'idle');
    nowMs += 1_800_000;
    const due = await leaseRetries(broadcast.id);
    assert.equal(due?.areProbes, true, 'probes come first');
    const rest = await leaseRetries(broadcast.id);
    assert.deepEqual([rest?.areProbes, rest?.rows.length], [false, rows - suspensionPolicy.probeRows]);
    assert.deepEqual((await find(broadcast)).heldBack, [], 'what is leased is not held back any more');
  });

  test('probes are the rows with the least numbers, and first some that were accepted before', async () => {
    const accepted = [3, 17, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49];
    for (const acceptedSubscriptionId of accepted) await tell({ accepted: 1, acceptedSubscriptionId });
    await tell({ refusalsInRow: 20 });
    // the last rows of the audience have the least numbers
    const broadcast = await holdAll(({ position }) => 1000 - position);
    assert.equal(await leaseRetries(broadcast.id), undefined, 'it is not time yet');
    nowMs += suspensionPolicy.probePauseMs;
    assert.equal(await workState(broadcast.id), 'ready');
    const ids = idsOf(await leaseRetries(broadcast.id)) ?? [];
    assert.equal(ids.length, 4);
    assert.deepEqual(
      ids.map((id) => accepted.includes(id ?? 0)),
      [true, true, false, false],
    );
    assert.deepEqual(ids, [49, 48, rows, rows - 1]);
    assert.equal(await leaseRetries(broadcast.id), undefined, 'the next ones come after a pause');
  });

  test('the pauses between probes grow after a while, up to two minutes', async () => {
    await tell({ refusalsInRow: 20 });
    const pauses = [];
    for (let draw = 0; draw < suspensionPolicy.quickDraws + 4; draw += 1) pauses.push(await drawAgainAfter());
    assert.deepEqual(new Set(pauses.slice(0, suspensionPolicy.quickDraws)), new Set([250]));
    assert.deepEqual(pauses.slice(suspensionPolicy.quickDraws), [250, 500, 1000, 2000]);
    for (const pauseMs of [4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000]) {
      const broadcast = await holdAll();
      nowMs += pauseMs - 1;
      assert.equal(await leaseRetries(broadcast.id), undefined, `sooner than after ${pauseMs} ms`);
      nowMs += 1;
      assert.equal((await leaseRetries(broadcast.id))?.areProbes, true, `after ${pauseMs} ms`);
      await store.broadcasts.cancel(broadcast.id);
    }
    // in the middle of what is left, so that a refusal which ends before the broadcast does is found to have ended
    const short = await holdAll(undefined, { expiresAtMs: nowMs + 180_000 });
    for (const pauseMs of [120_000, 30_000, 15_000]) {
      nowMs += pauseMs - 1;
      assert.equal(await leaseRetries(short.id), undefined, `sooner than after ${pauseMs} ms`);
      nowMs += 1;
      assert.equal((await leaseRetries(short.id))?.areProbes, true, `after ${pauseMs} ms`);
    }
  });

  test('probes are drawn at once where the clock has been set back since the last ones', async () => {
    await tell({ refusalsInRow: 20 });
    nowMs -= 86_400_000;
    const broadcast = await holdAll();
    assert.equal((await leaseRetries(broadcast.id))?.areProbes, true);
    assert.equal(await leaseRetries(broadcast.id), undefined, 'the next ones come after a pause');
    nowMs += 86_400_000;
  });

  test('one acceptance makes everything due that was held back, also what is stored later', async () => {
    await tell({ refusalsInRow: 20 });
    const early = await holdAll();
    await tell({ accepted: 1 });
    assert.equal(await workState(early.id), 'ready');
    const late = await holdAll();
    for (const broadcast of [early, late]) {
      const due = await leaseRetries(broadcast.id);
      assert.deepEqual([due?.areProbes, due?.rows.length], [false, rows]);
    }
  });

  for (const ending of ['rejected', 'expired', 'cancelled'] as const) {
    test(`a suspension ends with its last row, which is ${ending}, and refusals count anew`, async () => {
      await tell({ refusalsInRow: 20 });
      const broadcast = await holdAll();
      nowMs += suspensionPolicy.probePauseMs;
      let lease = await leaseRetries(broadcast.id);
      assert.equal(lease?.areProbes, true);
      assert.equal(await leaseRetries(broadcast.id), undefined);
      assert.equal((await stateNow())?.isSuspended, true, 'rows are left that can be drawn');
      nowMs += 1_800_000;
      if (ending === 'cancelled') await store.broadcasts.cancel(broadcast.id);
      else {
        const toResult = withResult(origin, ending, { attempts: 0 });
        for (; lease !== undefined; lease = await leaseRetries(broadcast.id))
          await commitRows(store, lease, lease.rows.map(toResult));
        assert.equal((await find(broadcast)).state, 'done');
      }
      assert.equal(await leaseRetries(broadcast.id), undefined);
      assert.equal(await stateNow(), undefined);
      await tell({ refusalsInRow: 19 });
      assert.equal(await stateNow(), undefined);
      await tell({ refusalsInRow: 1 });
      assert.equal((await stateNow())?.isSuspended, true);
    });
  }

  /** A broadcast to all, each row of which the push service refuses. */
  const refuseAll = async (answers: Partial<PushServiceAnswers>) => {
    const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 1000 }));
    await tell(answers);
    await commitNext(store, (recipient) => refused(recipient), broadcast.id);
    return broadcast;
  };
  const refused = (recipient: Recipient, delayMs = 5000, refusals = 1): RowResult => ({
    ...heldBack(() => 7)(recipient),
    attempts: 1,
    result: 'refused',
    retry: { delayMs, attempts: 0, deferrals: 0, refusals, expiresAtMs: nowMs + 100 * 3_600_000 },
  });
  const commitAgain = (lease: RetryLease, refusals: number) =>
    commitRows(
      store,
      lease,
      lease.rows.map((row) => refused(row, 5000, refusals)),
    );

  test('a row that is refused is tried again, and rejected where others are accepted meanwhile', async () => {
    await tell({ accepted: 1 });
    nowMs += 1;
    const { id } = await refuseAll({ refusalsInRow: 3 });
    assert.equal(await leaseRetries(id), undefined, 'not at once');
    nowMs += 5000;
    let lease = await leaseRetries(id);
    assert.deepEqual(meaningsOf(lease), ['1 suspend'], 'nothing was accepted since');
    await tell({ accepted: 1 });
    for (const meaning of ['1 retry', '2 retry', '3 retry', '4 reject']) {
      await commitAgain(lease!, Number(meaning[0]));
      nowMs += 5000;
      lease = await leaseRetries(id);
      assert.deepEqual([lease?.areProbes, meaningsOf(lease)], [false, [meaning]]);
    }
    // another answer between two refusals, such as a 503, changes nothing of this
    const retried = lease!.rows.map((row): RowResult => ({ ...refused(row, 5000, 4), result: 'retry' }));
    await commitRows(store, lease!, retried);
    nowMs += 5000;
    assert.deepEqual(meaningsOf(await leaseRetries(id)), ['4 reject']);
  });

  test('what was accepted before the refusal says nothing of it', async () => {
    const { id } = await refuseAll({ accepted: 1, refusalsInRow: 3 });
    nowMs += 5000;
    assert.deepEqual(meaningsOf(await leaseRetries(id)), ['1 suspend']);
    const { id: later } = await refuseAll({ refusalsInRow: 3 });
    await tell({ accepted: 1 });
    nowMs += 5000;
    assert.deepEqual(meaningsOf(await leaseRetries(later)), ['1 retry'], 'what is accepted after it does');
    await tell({ accepted: 1 });
    nowMs += 1;
    const { id: mixed } = await refuseAll({ accepted: 1, hasRefused: true });
    nowMs += 5000;
    assert.deepEqual(meaningsOf(await leaseRetries(mixed)), ['1 retry'], 'also where both are told at once');
  });

  test('a refused probe goes back among the rows that are held back, and is due with them', async () => {
    const { id } = await refuseAll({ refusalsInRow: 20 });
    assert.deepEqual((await store.broadcasts.find(id))?.heldBack, [{ origin, rows }]);
    nowMs += suspensionPolicy.probePauseMs;
    const lease = await leaseRetries(id);
    assert.deepEqual([lease?.areProbes, meaningsOf(lease)], [true, ['1 suspend']]);
    await commitAgain(lease!, 4);
    assert.deepEqual((await store.broadcasts.find(id))?.heldBack, [{ origin, rows }]);
    await tell({ accepted: 1 });
    const due = await leaseRetries(id);
    const meanings = meaningsOf(due);
    assert.deepEqual(
      [due?.rows.length, meanings],
      [rows, ['1 retry']],
      'refusals while it is held count once',
    );
  });

  for (const [what, isAccepted, isKnown, rejected, meaning] of [
    ['the key is good elsewhere', true, false, [], 'reject'],
    ['no push service has accepted the key', false, false, [], 'suspend'],
    ['a row is refused that was accepted before', true, true, [], 'suspend'],
    ['a row is refused that was accepted before, and another one rejected', true, true, [69], 'suspend'],
    ['a row is refused that was accepted before, and rejected since', true, true, [5], 'reject'],
  ] as const) {
    test(`after an hour without an acceptance a refusal means “${meaning}” where ${what}`, async () => {
      const key = `a key of ${origin}`;
      const answers = { vapidPublicKey: key, accepted: 0, hasRefused: false, refusalsInRow: 0 };
      const at = (host: string, more: object) => ({ ...answers, origin: host, ...more });
      if (isAccepted) await tellAll([at('https://elsewhere.example', { accepted: 1 })]);
      if (isKnown) await tellAll([at(origin, { accepted: 1, acceptedSubscriptionId: 5 })]);
      if (rejected.length > 0)
        await tellAll([at(origin, { accepted: 1, rejectedSubscriptionIds: rejected })]);
      nowMs += 1000;
      const { broadcast } = await store.broadcasts.create(
        madeUpBroadcast(nowMs, { sliceRows: 1000, expiresAtMs: nowMs + 100 * 3_600_000 }),
      );
      const slice = await leaseNext(store, broadcast.id);
      await tellAll([at(origin, { hasRefused: true, refusalsInRow: 20, refusedSubscriptionIds: [4, 5, 6] })]);
      const ofKey = (recipient: Recipient): RowResult => {
        const result = refused(recipient);
        return { ...result, suspension: { drawOrder: 7, vapidPublicKey: key } };
      };
      await commitSlice(store, slice, ofKey);
      nowMs += suspensionPolicy.patienceMs - suspensionPolicy.probePauseMs;
      assert.deepEqual(meaningsOf(await leaseRetries(broadcast.id)), ['1 suspend']);
      nowMs += suspensionPolicy.probePauseMs;
      const lease = await leaseRetries(broadcast.id);
      assert.deepEqual([lease?.areProbes, meaningsOf(lease)], [true, [`1 ${meaning}`]]);
      const all = rows - suspensionPolicy.probeRows;
      assert.equal(lease?.rows.length, meaning === 'reject' ? all : suspensionPolicy.probeRows);
      await commitRows(store, lease!, lease!.rows.map(ofKey));
      nowMs += suspensionPolicy.probePauseMs;
      assert.equal((await leaseRetries(broadcast.id))?.areProbes, true, 'the next ones come soon');
    });
  }
});

const idsOf = (lease: RetryLease | undefined) => lease?.rows.map(({ subscriptionId }) => subscriptionId);
const meaningsOf = (lease: RetryLease | undefined) => [
  ...new Set(lease?.rows.map(({ refusals, ifRefused }) => `${refusals} ${ifRefused}`)),
];
