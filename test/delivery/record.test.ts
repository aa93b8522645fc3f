// What is stored of a row: settled, tried again, deferred, held back, or detached until its answer is there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { Result } from '../../src/delivery/message-path/message-path.ts';
import { toDetached, toRowResult, type Row } from '../../src/delivery/worker/record.ts';
import type { Outcome } from '../../src/protocol/outcome.ts';
import { drawOrderEnd } from '../../src/store/push-services.ts';

const nowMs = 1_800_000_000_000;
const retryPolicy = {
  firstDelayMs: 1000,
  maxDelayMs: 60_000,
  maxAttempts: 3,
  maxRepeatsInDoubt: 1,
  firstDeferralMs: 100,
  maxDeferralMs: 5000,
};
const heldMs = 4000;
const hold = (_row: Row, waitMs: number): number => heldMs + waitMs;
const settings = { retryPolicy, now: () => nowMs, random: () => 0, hold };

const origin = 'https://push.example.net';
const recipient = { position: 7 } as Row['recipient'];
const broadcast = { ttlSeconds: 600, expiresAtMs: nowMs + 3_600_000 } as Row['broadcast'];
const tries = { attempts: 0, deferrals: 0, expiresAtMs: nowMs + 3_600_000 };
const sentAtMs = nowMs - 50;

const rowOf = (changes: Partial<Row> = {}): Row => ({
  recipient,
  broadcast,
  destination: { origin, vapidPublicKey: 'key', isSilentStranger: () => false } as Row['destination'],
  tries,
  ifRefused: 'suspend',
  sentAtMs,
  ...changes,
});
const posted = (outcome: Outcome, status?: number): Result =>
  status === undefined
    ? { kind: 'failure', outcome, error: new DeskbellError('ERR_CONNECTION', 'x') }
    : { kind: 'response', outcome, response: { status, headers: {}, body: '' } };
const retryOutcome = (changes: object = {}): Outcome => ({
  kind: 'retry',
  reason: 'throttled',
  slowsOrigin: true,
  ...changes,
});
/** @param record why nothing was sent */
const unsent = (record: object = {}) => ({
  recipient,
  origin,
  attempts: 0,
  record: { attempt: 0, reason: undefined, detail: undefined, ...record },
});

/** Of the alarm that a 429 after `attempts` attempts raises. */
function alarmReasonOf(host: string, attempts: number, changes: object): string | undefined {
  const destination = { ...rowOf().destination, origin: `https://${host}` };
  const row = rowOf({ destination, tries: { ...tries, attempts } });
  return toRowResult(row, posted(retryOutcome(changes), 429), settings).alarm?.reason;
}

describe('a row that was posted', () => {
  test('raises an alarm where Chrome asks it to wait for long, and only then', () => {
    const chrome = 'fcm.googleapis.com';
    assert.equal(alarmReasonOf(chrome, 3, {}), undefined);
    assert.equal(alarmReasonOf(chrome, 4, {}), 'chrome-limit', 'also where it is the last attempt');
    assert.equal(alarmReasonOf(chrome, 0, { afterMs: 86_400_000 }), 'chrome-limit');
    assert.equal(alarmReasonOf(chrome, 0, { afterMs: 600_000 }), 'chrome-limit');
    assert.equal(alarmReasonOf(chrome, 0, { afterMs: 599_999 }), undefined, 'the ordinary kind');
    assert.equal(alarmReasonOf(chrome, 4, { reason: 'server-error' }), undefined);
    assert.equal(alarmReasonOf('updates.push.services.mozilla.com', 4, {}), undefined);
  });

  test('is settled by an acceptance, with the status in the attempt log', () => {
    assert.deepEqual(toRowResult(rowOf(), posted({ kind: 'accepted' }, 201), settings), {
      recipient,
      origin,
      attempts: 1,
      result: 'accepted',
      record: {
        atMs: sentAtMs,
        attempt: 1,
        status: 201,
        reason: undefined,
        detail: undefined,
      },
    });
  });

  test('is settled by a 410, with the words of the push service', () => {
    const outcome: Outcome = { kind: 'gone', detail: 'Unregistered' };
    const { result, record, alarm } = toRowResult(rowOf(), posted(outcome, 410), settings);
    assert.deepEqual([result, record?.detail, alarm], ['gone', 'Unregistered', undefined]);
  });

  for (const isAlarm of [true, false]) {
    test(`is settled by a refusal, ${isAlarm ? 'with' : 'without'} an alarm`, () => {
      const outcome: Outcome = {
        kind: 'rejected',
        reason: 'bad-ttl',
        scope: 'message',
        isAlarm,
        detail: 'TTL',
      };
      const { result, record, alarm } = toRowResult(rowOf(), posted(outcome, 400), settings);
      assert.deepEqual([result, record?.reason, record?.detail], ['rejected', 'bad-ttl', 'TTL']);
      assert.deepEqual(alarm, isAlarm ? { reason: 'bad-ttl', detail: 'TTL' } : undefined);
    });
  }

  test('has one alarm where our token is refused, with the first refusal, though it is rejected in the end', () => {
    const outcome = { kind: 'rejected', reason: 'vapid-refused', scope: 'origin', isAlarm: true } as const;
    const refusedAfter = (refusals: number, ifRefused: Row['ifRefused']) => {
      const row = rowOf({ tries: { ...tries, refusals }, ifRefused });
      const { result, alarm } = toRowResult(row, posted(outcome, 403), settings);
      return [result, alarm?.reason];
    };
    assert.deepEqual(refusedAfter(0, 'suspend'), ['refused', 'vapid-refused']);
    assert.deepEqual(refusedAfter(1, 'retry'), ['refused', undefined]);
    assert.deepEqual(refusedAfter(4, 'reject'), ['rejected', undefined]);
    assert.deepEqual(refusedAfter(0, 'reject'), ['rejected', 'vapid-refused']);
  });

  test('has an alarm with no words where the push service gives none', () => {
    const outcome: Outcome = { kind: 'rejected', reason: 'redirected', scope: 'message', isAlarm: true };
    const { alarm } = toRowResult(rowOf(), posted(outcome, 301), settings);
    assert.deepEqual(alarm, { reason: 'redirected', detail: '' });
  });

  test('is tried again after the wait of its attempt, until its TTL', () => {
    assert.deepEqual(toRowResult(rowOf(), posted(retryOutcome(), 429), settings), {
      recipient,
      origin,
      attempts: 1,
      result: 'retry',
      record: {
        atMs: sentAtMs,
        attempt: 1,
        status: 429,
        reason: 'throttled',
        detail: undefined,
      },
      retry: { delayMs: 1000, attempts: 1, deferrals: 0, doubts: 0, expiresAtMs: sentAtMs + 600_000 },
    });
  });

  test('is repeated where it is in doubt, and stays in doubt after the last repeat, whatever else it has met', () => {
    const inDoubt = posted(retryOutcome({ reason: 'connection', isInDoubt: true }));
    const first = toRowResult(rowOf(), inDoubt, settings);
    assert.deepEqual(
      [first.result, first.attempts, first.record?.status, first.retry?.attempts, first.retry?.doubts],
      ['retry', 1, undefined, 1, 1],
    );
    const second = toRowResult(rowOf({ tries: { ...tries, attempts: 1, doubts: 1 } }), inDoubt, settings);
    assert.deepEqual([second.result, second.attempts, second.retry], ['doubtful', 1, undefined]);
    const refused = toRowResult(rowOf({ tries: { ...tries, attempts: 1 } }), inDoubt, settings);
    assert.deepEqual([refused.result, refused.retry?.doubts], ['retry', 1], 'a refusal is no doubt');
    const answered = rowOf({ tries: { ...tries, attempts: 1, doubts: 1 } });
    assert.equal(toRowResult(answered, posted(retryOutcome(), 503), settings).retry?.doubts, 1);
  });

  test('is tried again no earlier than Retry-After says', () => {
    const { retry } = toRowResult(rowOf(), posted(retryOutcome({ afterMs: 9000 }), 429), settings);
    assert.equal(retry?.delayMs, 9000);
  });

  test('is tried again later by a quarter at random', () => {
    const late = { ...settings, random: () => 0.5 };
    assert.equal(toRowResult(rowOf(), posted(retryOutcome(), 429), late).retry?.delayMs, 1125);
  });

  test('counts its attempts, is not held any more, and keeps the end that its first attempt has set', () => {
    const second = rowOf({ tries: { attempts: 1, deferrals: 2, expiresAtMs: nowMs + 5000 } });
    const { retry, record } = toRowResult(second, posted(retryOutcome(), 503), settings);
    assert.equal(record?.attempt, 2);
    assert.deepEqual(retry, {
      delayMs: 2000,
      attempts: 2,
      deferrals: 0,
      doubts: 0,
      expiresAtMs: nowMs + 5000,
    });
  });

  test('lives no longer than its broadcast', () => {
    const short = rowOf({ broadcast: { ...broadcast, expiresAtMs: nowMs + 20_000 } });
    const { retry } = toRowResult(short, posted(retryOutcome(), 503), settings);
    assert.equal(retry?.expiresAtMs, nowMs + 20_000);
  });

  test('is exhausted after its last attempt, and expired where the wait is longer than its TTL', () => {
    const third = rowOf({ tries: { ...tries, attempts: 2 } });
    const exhausted = toRowResult(third, posted(retryOutcome(), 503), settings);
    assert.deepEqual([exhausted.result, exhausted.retry], ['exhausted', undefined]);
    const expired = toRowResult(rowOf(), posted(retryOutcome({ afterMs: 600_000 }), 503), settings);
    assert.deepEqual([expired.result, expired.retry, expired.attempts], ['expired', undefined, 1]);
  });
});

describe('a row that was not posted', () => {
  const toUnlisted = { ...rowOf().destination, isUnlisted: true };

  test('is held where nothing can be sent to its push service, and that is not counted', () => {
    let row = rowOf({ tries: { ...tries, attempts: 2, doubts: 1 } });
    for (let time = 0; time < 2; time += 1) {
      const result = toRowResult(row, { kind: 'deferred', afterMs: 700, detail: 'spared' }, settings);
      const retry = { ...row.tries, delayMs: heldMs + 700, deferrals: 1 };
      assert.deepEqual(result, {
        ...unsent({ attempt: 2, detail: 'spared' }),
        result: 'retry',
        retry,
        alarm: undefined,
      });
      const { delayMs: _, ...left } = retry;
      row = rowOf({ tries: left });
    }
    const held = { kind: 'deferred', afterMs: 0, detail: '' } as const;
    const short = rowOf({ tries: { ...tries, expiresAtMs: nowMs + 50 } });
    assert.equal(toRowResult(short, held, settings).retry?.delayMs, 50, 'until its time is over');
    const over = rowOf({ tries: { ...tries, expiresAtMs: nowMs } });
    assert.equal(toRowResult(over, held, settings).result, 'expired');
  });

  test('is deferred where a stranger has named its push service, and its deferral counted', () => {
    const row = rowOf({ destination: toUnlisted, tries: { ...tries, attempts: 2, deferrals: 1 } });
    const result = toRowResult(row, { kind: 'deferred', afterMs: 0, detail: 'spared' }, settings);
    assert.deepEqual(result, {
      ...unsent({ attempt: 2, detail: 'spared' }),
      result: 'retry',
      retry: { delayMs: 200, attempts: 2, deferrals: 2, expiresAtMs: tries.expiresAtMs },
      alarm: undefined,
    });
  });

  test('is deferred no earlier than its push service may be written to', () => {
    const { retry } = toRowResult(
      rowOf({ destination: toUnlisted }),
      { kind: 'deferred', afterMs: 700, detail: '' },
      settings,
    );
    assert.equal(retry?.delayMs, 700);
  });

  describe('of a stranger’s host', () => {
    const cut = posted(retryOutcome({ reason: 'connection', isUnsent: true, detail: 'no such name' }));
    const busy = posted(retryOutcome({ reason: 'server-error' }), 503);
    const after = (
      deferrals: number,
      result: Result = cut,
      {
        isSilent = false,
        goneMs = 0,
        more = {},
      }: { isSilent?: boolean; goneMs?: number; more?: object } = {},
    ) => {
      const isDormant = { is: false };
      const destination = {
        ...rowOf().destination,
        isUnlisted: true,
        isSilentStranger: () => isSilent,
        setDormant: () => (isDormant.is = true),
      } as Row['destination'];
      const row = rowOf({
        destination,
        broadcast: { ...broadcast, startAtMs: nowMs - goneMs },
        tries: { ...tries, deferrals, ...more },
      });
      return { ...toRowResult(row, result, settings), isDormant: isDormant.is };
    };
    const minuteMs = 60_000;

    test('waits outside the end of its broadcast after some tries or minutes, longer each time, and never ends by it', () => {
      const isOutside = (...given: Parameters<typeof after>) => after(...given).retry?.isOutside === true;
      assert.ok(!isOutside(3) && isOutside(4) && isOutside(4, busy));
      assert.ok(!isOutside(0, cut, { goneMs: 9 * minuteMs }) && isOutside(0, cut, { goneMs: 10 * minuteMs }));
      const hours = posted(retryOutcome({ afterMs: 2 * 3_600_000 }), 429);
      assert.ok(isOutside(0, hours, { more: { attempts: 1, expiresAtMs: 1e14 } }), 'comes back after that');
      assert.ok(isOutside(0, { kind: 'suspended' }));
      const result = after(50, cut, { goneMs: 40 * minuteMs, more: { isOutside: true } });
      assert.deepEqual(
        [result.result, result.wasOutside, result.retry?.delayMs],
        ['retry', true, 10 * minuteMs],
      );
      for (const kind of ['quiet', 'waits'] as const) {
        const own = after(4, { kind, afterMs: 20 * minuteMs });
        assert.deepEqual([own.retry?.isOutside, own.retry?.delayMs], [undefined, 20 * minuteMs], kind);
      }
      const limited = { kind: 'rateLimited', afterMs: 5 } as const;
      const rated = after(0, limited, { goneMs: 40 * minuteMs, more: { isOutside: true } }).retry;
      assert.deepEqual([rated?.isOutside, rated?.delayMs], [true, 5], 'it may be sent when its turn comes');
      const accepted = after(9, posted({ kind: 'accepted' }, 201), { more: { isOutside: true } });
      assert.deepEqual([accepted.result, accepted.wasOutside], ['accepted', true]);
    });

    test('makes a host dormant that has accepted nothing while others do; such hosts share an alarm', () => {
      const isSilent = true;
      assert.equal(after(3, cut, { isSilent }).isDormant, false);
      const givenUp = after(4, cut, { isSilent });
      assert.deepEqual(
        [givenUp.isDormant, givenUp.result, givenUp.record?.detail],
        [true, 'retry', 'no such name'],
      );
      assert.deepEqual(
        [givenUp.retry?.isOutside, givenUp.retry?.delayMs],
        [true, 3_600_000],
        'until its TTL ends',
      );
      const long = after(4, cut, { isSilent, more: { expiresAtMs: nowMs + 1e12 } });
      assert.equal(long.retry?.delayMs, 24 * 3_600_000);
      assert.equal(after(50).isDormant, false, 'this machine may be cut off');
      assert.equal(after(4, busy, { isSilent }).isDormant, false, 'it has answered');
      const deferred = { kind: 'deferred', afterMs: 0, detail: 'no such name' } as const;
      assert.ok(!after(1, deferred, { isSilent }).isDormant && after(4, deferred, { isSilent }).isDormant);
      assert.ok(after(0, { kind: 'dormant' }).retry?.isOutside);
      const blocked = posted(retryOutcome({ reason: 'address-blocked', isUnsent: true, detail: 'why' }));
      assert.equal(after(0, blocked).alarm?.origin, '');
    });

    test('raises no alarm when it expires outside untried', () => {
      const over = {
        broadcast: { ...broadcast, expiresAtMs: nowMs, origins: [] },
      } as unknown as Partial<Row>;
      const row = rowOf({ ...over, tries: { ...tries, isOutside: true } });
      const { result, alarm } = toRowResult(row, { kind: 'expired' }, settings);
      assert.deepEqual([result, alarm], ['expired', undefined]);
    });
  });

  for (const [reason, hasAlarm] of [
    ['connection', false],
    ['protocol-error', false],
    ['address-blocked', true],
    ['sender-fault', true],
  ] as const) {
    test(`waits until its TTL ends where ${reason} kept it from being written, and counts no attempt`, () => {
      const unsentOutcome = posted(retryOutcome({ reason, isUnsent: true, detail: 'why' }));
      let row = rowOf({ tries: { ...tries, attempts: 2, doubts: 1 } });
      for (let time = 0; time < 50; time += 1) {
        const { result, attempts, retry, alarm, record } = toRowResult(row, unsentOutcome, settings);
        assert.deepEqual([result, attempts, retry?.attempts, retry?.doubts], ['retry', 0, 2, 1]);
        assert.deepEqual([record?.reason, record?.detail], [reason, 'why']);
        assert.deepEqual(alarm, hasAlarm && time === 0 ? { reason, detail: 'why' } : undefined);
        const { delayMs, ...left } = retry!;
        assert.ok(reason === 'sender-fault' ? delayMs <= retryPolicy.maxDeferralMs : delayMs === heldMs);
        row = rowOf({ tries: left });
      }
      const over = rowOf({ tries: { ...row.tries, expiresAtMs: nowMs } });
      assert.equal(toRowResult(over, unsentOutcome, settings).result, 'expired');
    });
  }

  test('waits where its push service would refuse our subject, which an operator can set right', () => {
    const fault = { reason: 'vapid-refused', detail: 'Apple wants a real address' } as const;
    const { result, attempts, alarm } = toRowResult(rowOf(), { kind: 'notSendable', fault }, settings);
    assert.deepEqual([result, attempts, alarm], ['retry', 0, fault]);
  });

  test('has an alarm once where its push service breaks HTTP', () => {
    const deferred: Result = { kind: 'deferred', afterMs: 0, detail: 'bytes', obstacle: 'protocol-error' };
    for (const deferrals of [0, 1]) {
      const { alarm, retry } = toRowResult(rowOf({ tries: { ...tries, deferrals } }), deferred, settings);
      assert.deepEqual(alarm, { reason: 'protocol-error', detail: 'bytes' });
      const told = rowOf({ tries: { ...tries, deferrals: retry!.deferrals } });
      assert.equal(toRowResult(told, deferred, settings).alarm, undefined);
    }
  });

  test('is rejected with an alarm where it may not be sent', () => {
    const fault = { reason: 'address-blocked', detail: 'loopback' } as const;
    const result = toRowResult(rowOf(), { kind: 'notSendable', fault }, settings);
    assert.deepEqual(result, { ...unsent(fault), result: 'rejected', alarm: fault });
  });

  test('is left to another sender for as long as it takes where its push service is not listed here', () => {
    const notListed: Result = { kind: 'notListed', detail: 'not ours' };
    const delays = [];
    let row = rowOf();
    for (let time = 0; time < 100; time += 1) {
      const { result, retry, alarm } = toRowResult(row, notListed, settings);
      assert.deepEqual([result, alarm?.reason], ['retry', time === 0 ? 'not-listed' : undefined]);
      assert.ok(retry);
      const { delayMs, ...left } = retry;
      delays.push(delayMs);
      row = rowOf({ tries: left });
    }
    assert.deepEqual(delays.slice(0, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    assert.equal(row.tries.deferrals, 10, 'deferrals for other reasons stay possible');
    const late = rowOf({ tries: { ...row.tries, expiresAtMs: nowMs + 4000 } });
    assert.equal(toRowResult(late, notListed, settings).retry?.delayMs, 2000, 'once more before its end');
    const over = rowOf({ tries: { ...row.tries, expiresAtMs: nowMs + 50 } });
    assert.equal(toRowResult(over, notListed, settings).result, 'expired');
  });

  test('is tried again like a failed connection where its address is blocked, and then rejected', () => {
    const blocked: Outcome = {
      kind: 'rejected',
      reason: 'address-blocked',
      scope: 'origin',
      isAlarm: true,
      detail: 'leads inside',
    };
    const results = [0, 1, 2].map((attempts) =>
      toRowResult(rowOf({ tries: { ...tries, attempts } }), posted(blocked), settings),
    );
    assert.deepEqual(
      results.map(({ result, alarm }) => [result, alarm?.reason]),
      [
        ['retry', 'address-blocked'],
        ['retry', undefined],
        ['rejected', undefined],
      ],
    );
    assert.deepEqual(
      results.map(({ retry }) => retry?.delayMs),
      [1000, 2000, undefined],
    );
  });

  test('is expired where its time is over', () => {
    assert.deepEqual(toRowResult(rowOf(), { kind: 'expired' }, settings), { ...unsent(), result: 'expired' });
  });

  test('raises an alarm where its broadcast was over before anything of it was tried, and only then', () => {
    const over = { ...broadcast, expiresAtMs: nowMs, origins: [] } as unknown as Row['broadcast'];
    const origins = [{ attempts: 0 }, { attempts: 1 }] as unknown as Row['broadcast']['origins'];
    const reasonOf = (changes: Partial<Row>) =>
      toRowResult(rowOf({ broadcast: over, ...changes }), { kind: 'expired' }, settings).alarm?.reason;
    assert.equal(reasonOf({}), 'expired-unsent');
    assert.equal(reasonOf({ broadcast: { ...over, expiresAtMs: nowMs + 1 } }), undefined);
    assert.equal(reasonOf({ broadcast: { ...over, origins } }), undefined);
    assert.equal(reasonOf({ tries: { ...tries, attempts: 1 } }), undefined);
    assert.equal(reasonOf({ tries: { ...tries, deferrals: 1 } }), undefined);
  });

  test('is held back under its key, in a random order of whole numbers', () => {
    const third = { ...settings, random: () => 1 / 3 };
    assert.deepEqual(toRowResult(rowOf(), { kind: 'suspended' }, third), {
      ...unsent(),
      result: 'heldBack',
      retry: { ...tries, delayMs: 0 },
      suspension: { vapidPublicKey: 'key', drawOrder: Math.floor(drawOrderEnd / 6) },
    });
  });

  test('is drawn as a probe after those that were not refused yet', () => {
    const last = { ...settings, random: () => 1 - 2 ** -40 };
    const drawOrderOf = (row: Row, result: Result, { random } = settings) =>
      toRowResult(row, result, { ...settings, random }).suspension?.drawOrder ?? Number.NaN;
    const refusal = posted(
      { kind: 'rejected', reason: 'vapid-refused', scope: 'origin', isAlarm: true },
      403,
    );
    const refusedBefore = rowOf({ tries: { ...tries, refusals: 1 } });
    const latestOfOthers = drawOrderOf(rowOf(), { kind: 'suspended' }, last);
    assert.ok(latestOfOthers < drawOrderOf(rowOf(), refusal));
    assert.ok(latestOfOthers < drawOrderOf(refusedBefore, { kind: 'suspended' }));
    assert.ok(drawOrderOf(refusedBefore, refusal, last) < drawOrderEnd);
  });

  test('is detached for as long as the lease', () => {
    assert.deepEqual(toDetached(rowOf(), 12_000), {
      ...unsent(),
      result: 'detached',
      retry: { ...tries, delayMs: 12_000 },
    });
  });
});
