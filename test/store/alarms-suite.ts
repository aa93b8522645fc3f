// Which alarms stand over a store, and for how long: what `readAlarms` says is as long as its condition is.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { acknowledgeAlarm, readAlarms } from '../../src/delivery/alarms/read-alarms.ts';
import type { StandingAlarm } from '../../src/delivery/alarms/standing-alarm.ts';
import { createWarningReader } from '../../src/delivery/alarms/installation-warnings.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import { vapidPublicKey, workerReport } from './made-up-subscription.ts';
import {
  addSubscriptions,
  commitNext,
  commitPage,
  madeUpBroadcast,
  madeUpSchedule,
  openForEachTest,
  withResult,
} from './store-under-test.ts';
import { databaseName } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';

const leaseMs = 10_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const firstAtMs = Date.UTC(2027, 0, 4, 8);
const fcm = 'https://fcm.googleapis.com';
const linkTo = (broadcastId: number): string => `/console/broadcasts/${broadcastId}`;
const refused = { reason: 'bad-request', detail: 'TooOld' };

describe(`alarms: ${databaseName()}`, () => {
  let nowMs = firstAtMs;
  const store = openForEachTest(() => nowMs);
  beforeEach(async () => {
    nowMs = firstAtMs;
    await addSubscriptions(store, 40);
  });

  const read = () => readAlarms(store, createWarningReader(store));
  const standing = async (): Promise<readonly StandingAlarm[]> => (await read()).standing;
  const kinds = async (): Promise<readonly string[]> => (await standing()).map(({ kind }) => kind);
  /** The alarm, where it is the only one. */
  const onlyAlarm = async () => {
    const [alarm, ...others] = await standing();
    assert.deepEqual(others, []);
    return [alarm!.kind, alarm!.count, alarm!.unit, alarm!.sinceMs, alarm!.link];
  };
  const create = async (changes: object = {}): Promise<number> => {
    const draft = madeUpBroadcast(nowMs, { expiresAtMs: nowMs + 30 * dayMs, sliceRows: 10, ...changes });
    return (await store.broadcasts.create(draft)).broadcast.id;
  };
  const putWorker = () => store.senders.put({ ...workerReport, startedAtMs: nowMs });
  /** Commits the next slice of a broadcast: ten rows. */
  const commitTen = async (broadcastId: number, resultOf: (index: number) => Partial<RowResult>) => {
    let index = 0;
    const accept = withResult(fcm, 'accepted');
    await commitNext(store, (row) => ({ ...accept(row), ...resultOf(index++) }), broadcastId);
  };
  const commitAll = async (broadcastId: number, result: RowResult['result']) => {
    for (let slice = 0; slice < 4; slice += 1) await commitTen(broadcastId, () => ({ result }));
  };
  const refuse = (broadcastId: number, count: number) =>
    commitTen(broadcastId, (index) => (index < count ? { result: 'rejected', alarm: refused } : {}));

  test('what a running broadcast has raised stands as long as it runs, and for a day after its end', async () => {
    const [one, other] = [await create(), await create()];
    await refuse(one, 3);
    nowMs += hourMs;
    await refuse(other, 1);
    nowMs += 3 * dayMs;
    await putWorker();
    const [alarm, ...others] = await standing();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [alarm!.id, alarm!.count, alarm!.unit, alarm!.broadcastIds, alarm!.sinceMs],
      ['bad-request:fcm.googleapis.com', 3, 'message', [one, other], firstAtMs],
    );
    await store.broadcasts.cancel(one);
    await store.broadcasts.cancel(other);
    nowMs += dayMs - 1;
    while (await store.retention.prune({}));
    assert.deepEqual(await kinds(), ['bad-request']);
    nowMs += 2;
    assert.deepEqual(await kinds(), []);
    while (await store.retention.prune({}));
    nowMs -= dayMs;
    assert.deepEqual(await kinds(), [], 'it is not looked at again');
  });

  test('counts that differ stand as long as their broadcast is kept', async () => {
    const id = await create();
    for (let slice = 0; slice < 3; slice += 1) await commitTen(id, () => ({}));
    await commitNext(store, withResult(fcm, 'capped'), id);
    assert.deepEqual(await kinds(), []);
    const lossy = [await create(), await create(), await create()];
    for (const [index, broadcastId] of lossy.entries())
      for (let slice = 0; slice < 4; slice += 1) {
        const lease = (await store.leases.leaseSlice({ leaseMs, broadcastId }))!;
        const rows = await store.ledger.readRows(lease, lease.cursor, 100);
        const twice = rows.slice(0, 2).map((row) => ({ ...row, subscriptionId: undefined }));
        // a row too few, or two that are counted twice
        const counted = index < 2 ? rows.slice(1) : [...rows, ...twice];
        await commitPage(store, lease, counted.map(withResult(fcm, 'accepted')));
      }
    nowMs += 10 * dayMs;
    while (await store.retention.prune({}));
    const [alarm] = await standing();
    assert.deepEqual([alarm!.id, alarm!.count, alarm!.broadcastIds], ['counts-differ', 8, lossy]);
    assert.equal(alarm!.link, `/console/broadcasts/${lossy[2]}`);
  });

  test('work that is due without a worker is an alarm after a minute, and none with one that sends', async () => {
    const id = await create();
    nowMs += minuteMs - 1;
    assert.deepEqual(await kinds(), []);
    nowMs += 1;
    // who sends single messages alone delivers no broadcast
    await store.senders.put({ ...workerReport, id: 'single', kind: 'single', startedAtMs: nowMs });
    const [alarm] = await standing();
    assert.deepEqual(
      [alarm!.kind, alarm!.count, alarm!.sinceMs, alarm!.link],
      ['no-worker', 1, firstAtMs, `/console/broadcasts/${id}`],
    );
    await putWorker();
    const { standing: found, lateness } = await read();
    assert.deepEqual(pluck(found, 'kind', 'broadcastIds'), [['broadcast-late', [id]]]);
    assert.deepEqual(lateness, { broadcastMs: minuteMs, scheduleMs: 0 });
    await commitTen(id, () => ({}));
    nowMs += 10 * minuteMs;
    await putWorker();
    assert.deepEqual(await kinds(), [], 'what has begun goes on');
    await store.senders.remove(workerReport.id);
    assert.deepEqual(await kinds(), ['no-worker'], 'and nobody goes on with it');
    await store.broadcasts.pause(id);
    assert.deepEqual(await kinds(), []);
  });

  test('a schedule whose time has passed is late, unless sending is paused', async () => {
    const { id } = await store.schedules.add(madeUpSchedule({ nextAtMs: firstAtMs }));
    nowMs += minuteMs - 1;
    assert.deepEqual(await kinds(), []);
    nowMs += 1;
    assert.deepEqual(await onlyAlarm(), ['no-worker', 1, 'schedule', firstAtMs, '/console/schedules']);
    const broadcast = await create();
    nowMs += minuteMs;
    const link = `/console/broadcasts/${broadcast}`;
    assert.deepEqual(await onlyAlarm(), ['no-worker', 1, 'broadcast', firstAtMs, link]);
    await store.broadcasts.cancel(broadcast);
    await putWorker();
    const { standing: found, lateness } = await read();
    assert.deepEqual(pluck(found, 'kind', 'count', 'unit'), [['schedule-late', 1, 'schedule']]);
    assert.equal(lateness.scheduleMs, 2 * minuteMs);
    const later = await store.schedules.add(madeUpSchedule({ nextAtMs: firstAtMs + 1 }));
    const [alarm] = await standing();
    assert.deepEqual([alarm!.count, alarm!.sinceMs, alarm!.link], [2, firstAtMs, '/console/schedules']);
    assert.match(alarm!.remedy, new RegExp(` Schedules: ${id}, ${later.id}\\.$`));
    await store.schedules.pause(later.id);
    assert.equal((await standing())[0]!.count, 1, 'one that is paused is not late');
    await store.schedules.advance(id, { fromMs: firstAtMs, toMs: nowMs + hourMs });
    assert.deepEqual(await kinds(), []);
    await store.schedules.advance(id, { fromMs: nowMs + hourMs, toMs: firstAtMs });
    await store.sending.pause('asked');
    assert.deepEqual(await kinds(), ['sending-paused']);
  });

  test('work is due in whatever form it waits: of high priority, leased by who has ended, to be tried again', async () => {
    // as workers do now and then: until then anything of a broadcast may be due to be tried again
    const lookForRetries = async () =>
      assert.equal(await store.leases.leaseRetries({ leaseMs, limit: 1 }), undefined);
    const urgent = await create({ priority: 'high' });
    nowMs += minuteMs;
    await lookForRetries();
    await store.leases.leaseSlice({ leaseMs: hourMs, broadcastId: urgent });
    assert.deepEqual(await onlyAlarm(), ['no-worker', 1, 'broadcast', firstAtMs, linkTo(urgent)]);
    const scheduled = await create({ startAtMs: nowMs + minuteMs });
    nowMs += 2 * minuteMs;
    await lookForRetries();
    assert.deepEqual(await onlyAlarm(), ['no-worker', 2, 'broadcast', firstAtMs, '/console/broadcasts']);
    await putWorker();
    const late = ['broadcast-late', 2, 'broadcast', firstAtMs, '/console/broadcasts'];
    assert.deepEqual(await onlyAlarm(), late);
    await store.broadcasts.cancel(urgent);
    const startAtMs = firstAtMs + 2 * minuteMs;
    assert.deepEqual(await onlyAlarm(), ['broadcast-late', 1, 'broadcast', startAtMs, linkTo(scheduled)]);
    await store.senders.remove(workerReport.id);

    for (let slice = 0; slice < 4; slice += 1) await store.leases.leaseSlice({ leaseMs });
    const endAtMs = nowMs + leaseMs;
    nowMs = endAtMs + minuteMs - 1;
    assert.deepEqual(await kinds(), []);
    nowMs += 1;
    assert.deepEqual(await onlyAlarm(), ['no-worker', 1, 'broadcast', endAtMs, linkTo(scheduled)]);
    const retry = { attempts: 1, deferrals: 0, expiresAtMs: nowMs + dayMs, delayMs: 1 };
    for (let slice = 0; slice < 4; slice += 1) await commitTen(scheduled, () => ({ result: 'retry', retry }));
    const sentAtMs = nowMs;
    nowMs += minuteMs - 1;
    assert.deepEqual(await kinds(), [], 'something was sent a minute ago');
    assert.equal(await store.leases.leaseSlice({ leaseMs }), undefined, 'no slice is left');
    nowMs += 1;
    assert.deepEqual(await onlyAlarm(), ['no-worker', 1, 'broadcast', sentAtMs, linkTo(scheduled)]);
    await putWorker();
    assert.deepEqual(await kinds(), []);
  });

  test('an audience that nobody prepares is work that is due, unless its broadcast is paused', async () => {
    const audienceId = await store.broadcasts.openAudience();
    const id = await create({ audienceId, matching: { tags: { any: ['news'] } } });
    nowMs += 2 * minuteMs;
    assert.deepEqual(await kinds(), ['no-worker']);
    await putWorker();
    const link = `/console/broadcasts/${id}`;
    assert.deepEqual(await onlyAlarm(), ['broadcast-late', 1, 'broadcast', firstAtMs, link]);
    await store.broadcasts.pause(id);
    assert.deepEqual(await kinds(), []);
  });

  test('a push service that calls all gone, or accepts nothing, is an alarm until it accepts again', async () => {
    await putWorker();
    await commitAll(await create(), 'rejected');
    const [alarm] = await standing();
    assert.deepEqual(
      [alarm!.kind, alarm!.pushService, alarm!.count, alarm!.unit],
      ['accepts-nothing', 'fcm.googleapis.com', 40, 'message'],
    );
    nowMs += hourMs;
    const sinceMs = nowMs;
    for (let round = 0; round < 3; round += 1) {
      const id = await create();
      for (let slice = 0; slice < 4; slice += 1, nowMs += 1) await commitTen(id, () => ({ result: 'gone' }));
    }
    await putWorker();
    const held = await standing();
    assert.deepEqual(
      pluck(held, 'id', 'count', 'unit', 'sinceMs', 'link'),
      [['deletions-held:fcm.googleapis.com', 40, 'subscription', sinceMs, '/console/push-services']],
      'what waits for a decision is not said twice',
    );
    await store.heldDeletions.confirm(fcm);
    const [gone] = await standing();
    assert.deepEqual([gone!.id, gone!.count], ['all-gone:fcm.googleapis.com', 120]);
    nowMs += hourMs;
    await addSubscriptions(store, 40, 100);
    for (let round = 0; round < 3; round += 1) await commitAll(await create(), 'accepted');
    await putWorker();
    assert.deepEqual(await kinds(), []);
  });

  test('the hosts of a vendor are one push service: one alarm says what waits for a decision', async () => {
    await putWorker();
    const origin = 'https://db5p.notify.windows.com';
    const id = await create();
    for (let slice = 0; slice < 4; slice += 1) await commitTen(id, () => ({ result: 'gone', origin }));
    await putWorker();
    const ids = (await standing()).map((alarm) => alarm.id);
    assert.deepEqual(ids, ['deletions-held:notify.windows.com']);

    await addSubscriptions(store, 40, 100);
    const other = await create();
    const another = 'https://am3p.notify.windows.com';
    for (let slice = 0; slice < 8; slice += 1)
      await commitTen(other, () => (slice < 4 ? {} : { result: 'gone', origin: another }));
    assert.deepEqual(pluck(await standing(), 'pushService', 'broadcastIds', 'count'), [
      ['notify.windows.com', [id, other], 80],
    ]);
  });

  test('a refused token is one alarm until a token is accepted, and answers are judged for a day', async () => {
    const id = await create();
    const alarm = { reason: 'vapid-refused', detail: 'BadJwtToken' };
    await commitTen(id, () => ({ result: 'rejected', alarm }));
    await putWorker();
    const ofTokens = async () => (await kinds()).filter((kind) => kind === 'vapid-refused').length;
    assert.equal(await ofTokens(), 1, 'as the broadcast says');
    assert.equal((await standing())[0]!.link, '/console/push-services');
    const tell = (accepted: number, refusalsInRow: number, more: object = {}) => {
      const told = { accepted, hasRefused: refusalsInRow > 0, refusalsInRow };
      const answers = [{ origin: fcm, vapidPublicKey, ...told, ...more }];
      return store.ledger.recordAnswers({ id: randomUUID(), origins: [], answers });
    };
    nowMs += minuteMs;
    const mozilla = 'https://updates.push.services.mozilla.com';
    await tell(1, 0, { origin: mozilla });
    assert.equal(await ofTokens(), 1, 'another push service has accepted one');
    const heldSinceMs = nowMs;
    await tell(0, 20);
    assert.equal(await ofTokens(), 1, 'as it is held');
    nowMs += minuteMs;
    const second = await create();
    await commitTen(second, (index) => ({
      origin: mozilla,
      ...(index < 3 ? { result: 'rejected', alarm: { ...alarm, detail: 'bad claims' } } : {}),
    }));
    await tell(0, 20, { origin: mozilla });
    // refused with another key too
    await tell(0, 20, { vapidPublicKey: `${vapidPublicKey}-next` });
    await putWorker();
    const tokens = (await standing()).filter(({ kind }) => kind === 'vapid-refused');
    assert.deepEqual(pluck(tokens, 'pushService', 'count', 'detail', 'sinceMs', 'broadcastIds'), [
      ['fcm.googleapis.com', 10, 'BadJwtToken', heldSinceMs, [id]],
      ['push.services.mozilla.com', 3, 'bad claims', nowMs, [second]],
    ]);
    await tell(1, 0, { vapidPublicKey: `${vapidPublicKey}-next` });
    nowMs += minuteMs;
    await putWorker();
    await tell(1, 0, { origin: mozilla });
    await tell(1, 0);
    assert.equal(await ofTokens(), 0, 'though the broadcast goes on');
    await store.broadcasts.cancel(second);

    for (let slice = 0; slice < 3; slice += 1) await commitTen(id, () => ({ result: 'rejected' }));
    nowMs += dayMs - 4 * minuteMs;
    await putWorker();
    assert.ok((await kinds()).includes('accepts-nothing'));
    nowMs += 20 * minuteMs;
    await putWorker();
    assert.ok(!(await kinds()).includes('accepts-nothing'));
  });

  test('an acknowledgement ends when the condition ends, gets worse, or begins again', async () => {
    await putWorker();
    const id = await create({ sliceRows: 5 });
    await refuse(id, 2);
    const warnings = createWarningReader(store);
    const alarmId = 'bad-request:fcm.googleapis.com';
    const acknowledge = (operator = 'ann', note = 'Asked them.') =>
      acknowledgeAlarm(store, warnings, { id: alarmId, operator, note });
    nowMs += minuteMs;
    await putWorker();
    assert.equal((await standing())[0]!.link, `/console/broadcasts/${id}`);
    const known = await acknowledge();
    assert.deepEqual(known.acknowledgement, {
      alarm: alarmId,
      operator: 'ann',
      note: 'Asked them.',
      atMs: nowMs,
      count: 2,
      broadcasts: 1,
    });
    await refuse(id, 1);
    assert.equal(
      (await standing())[0]!.acknowledgement?.operator,
      'ann',
      'three are not twice as many as two',
    );
    nowMs += minuteMs;
    assert.deepEqual((await acknowledge('bob', 'They answered.')).acknowledgement, {
      alarm: alarmId,
      operator: 'bob',
      note: 'They answered.',
      atMs: nowMs,
      count: 3,
      broadcasts: 1,
    });
    await refuse(id, 3);
    assert.equal((await standing())[0]!.acknowledgement, undefined, 'it concerns twice as many');
    assert.deepEqual(await store.alarms.acknowledgements(), []);
    await acknowledge();
    await store.broadcasts.cancel(id);
    nowMs += 2 * dayMs;
    await putWorker();
    const again = await create();
    await refuse(again, 1);
    assert.equal((await standing())[0]!.acknowledgement, undefined, 'it has begun again');
    await acknowledge();
    const other = await create();
    await refuse(other, 1);
    const [ofBoth] = await standing();
    assert.equal(ofBoth!.acknowledgement, undefined, 'it concerns twice as many broadcasts');
    assert.equal(ofBoth!.link, '/console/push-services', 'of one push service, whatever the broadcast');
    await acknowledge();
    for (const ended of [again, other]) await store.broadcasts.cancel(ended);
    nowMs += 2 * dayMs;
    assert.deepEqual(await standing(), []);
    assert.deepEqual(await store.alarms.acknowledgements(), [], 'the condition has ended');
    await assert.rejects(acknowledge(), { code: 'ERR_ALARM_NOT_FOUND' });
  });
});
