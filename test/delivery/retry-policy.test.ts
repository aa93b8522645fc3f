import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RateLimits } from '../../src/delivery/limits/rate-limits.ts';
import {
  defaultRetryPolicy,
  retryAfterAttempt,
  retryAfterDeferral,
  retryAfterVapidRefusal,
  retryWhenMended,
  type Tries,
} from '../../src/delivery/settings/retry-policy.ts';
import { suspensionPolicy } from '../../src/store/push-services.ts';
import { openTestStore } from '../store/test-database.ts';

const nowMs = 1_800_000_000_000;
const policy = {
  firstDelayMs: 1000,
  maxDelayMs: 60_000,
  maxAttempts: 10,
  maxRepeatsInDoubt: 3,
  firstDeferralMs: 100,
  maxDeferralMs: 5000,
};
const tries = (changes: Partial<Tries> = {}): Tries => ({
  attempts: 1,
  deferrals: 0,
  expiresAtMs: nowMs + 3_600_000,
  ...changes,
});
const waitMs = (retry: ReturnType<typeof retryAfterAttempt>): number => {
  assert.ok(typeof retry === 'object', `${String(retry)} is no retry`);
  return retry.delayMs;
};

describe('after an attempt', () => {
  test('the wait doubles with each, up to its longest', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempts) =>
      waitMs(retryAfterAttempt(policy, tries({ attempts }), 0, nowMs, 0)),
    );
    assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('up to a quarter more is added at random', () => {
    assert.equal(waitMs(retryAfterAttempt(policy, tries(), 0, nowMs, 0.5)), 1125);
    assert.equal(waitMs(retryAfterAttempt(policy, tries(), 0, nowMs, 1)), 1250);
  });

  test('the first wait is what Retry-After asks for', () => {
    assert.equal(waitMs(retryAfterAttempt(policy, tries(), 120_000, nowMs, 0)), 120_000);
    assert.equal(waitMs(retryAfterAttempt(policy, tries(), 1, nowMs, 0)), 1);
    assert.equal(waitMs(retryAfterAttempt(policy, tries(), 0, nowMs, 0)), 1000);
  });

  test('further waits are the longer of Retry-After and the backoff', () => {
    const second = tries({ attempts: 2 });
    assert.equal(waitMs(retryAfterAttempt(policy, second, 120_000, nowMs, 0)), 120_000);
    assert.equal(waitMs(retryAfterAttempt(policy, second, 1, nowMs, 0)), 2000);
  });

  test('the last attempt is the last', () => {
    assert.equal(typeof retryAfterAttempt(policy, tries({ attempts: 9 }), 0, nowMs, 0), 'object');
    assert.equal(retryAfterAttempt(policy, tries({ attempts: 10 }), 0, nowMs, 0), 'exhausted');
  });

  test('a retry that would come at the end of the TTL or later is none', () => {
    assert.equal(retryAfterAttempt(policy, tries({ expiresAtMs: nowMs + 1000 }), 0, nowMs, 0), 'expired');
    assert.equal(waitMs(retryAfterAttempt(policy, tries({ expiresAtMs: nowMs + 1001 }), 0, nowMs, 0)), 1000);
    const deferred = (expiresAtMs: number) =>
      retryAfterDeferral(policy, tries({ deferrals: 1, expiresAtMs }), 0, nowMs, 0);
    assert.equal(deferred(nowMs + 100), 'expired');
    assert.equal(waitMs(deferred(nowMs + 101)), 100);
  });

  test('times are whole milliseconds, as the store wants them', () => {
    const retry = retryAfterAttempt(policy, tries(), 0, nowMs + 0.5, 0.3);
    assert.ok(typeof retry === 'object' && Number.isInteger(retry.delayMs));
  });
});

test('after a deferral the wait grows by itself and does not count as an attempt', () => {
  const waits = [1, 2, 3, 7, 19].map((deferrals) =>
    waitMs(retryAfterDeferral(policy, tries({ attempts: 9, deferrals }), 0, nowMs, 0)),
  );
  assert.deepEqual(waits, [100, 200, 400, 5000, 5000]);
});

for (const [what, retry, often, firstMs] of [
  ['that another sender has to send', retryWhenMended, { deferrals: 20 }, policy.firstDeferralMs],
  ['after its token was refused', retryAfterVapidRefusal, { refusals: 20 }, policy.firstDelayMs],
] as const) {
  test(`a row ${what} is tried again in the middle of what is left, at the latest`, () => {
    const [plenty, enough, tooLittle] = [9000, firstMs, firstMs - 1].map((leftMs) =>
      retry(policy, tries({ ...often, expiresAtMs: nowMs + leftMs }), 0, nowMs, 0),
    );
    assert.equal(waitMs(plenty!), 4500);
    assert.equal(waitMs(enough!), firstMs / 2);
    assert.equal(tooLittle, 'expired');
  });
}

const longLived = (changes: Partial<Tries>): Tries =>
  tries({ expiresAtMs: Number.MAX_SAFE_INTEGER, ...changes });

test('by default the attempts of a row take three quarters of an hour', () => {
  const waitsMs = Array.from({ length: defaultRetryPolicy.maxAttempts - 1 }, (_, index) =>
    waitMs(retryAfterAttempt(defaultRetryPolicy, longLived({ attempts: index + 1 }), 0, nowMs, 0)),
  );
  assert.equal(waitsMs[0], 5000);
  const minutes = waitsMs.reduce((sum, wait) => sum + wait) / 60_000;
  assert.ok(minutes > 40 && minutes < 50, `${minutes} minutes`);
});

test('by default a row is refused for more than a minute before it is rejected', () => {
  const { maxRefusals } = suspensionPolicy;
  const waitsMs = Array.from({ length: maxRefusals - 1 }, (_, index) =>
    waitMs(retryAfterVapidRefusal(defaultRetryPolicy, longLived({ refusals: index + 1 }), 0, nowMs, 0)),
  );
  assert.deepEqual(waitsMs, [5000, 10_000, 20_000, 40_000]);
});

test('with more attempts than by default no wait is longer than half an hour', () => {
  const patient = { ...defaultRetryPolicy, maxAttempts: 100 };
  const halfAnHourMs = 30 * 60 * 1000;
  assert.equal(waitMs(retryAfterAttempt(patient, longLived({ attempts: 50 }), 0, nowMs, 0)), halfAnHourMs);
  const refused = retryAfterVapidRefusal(defaultRetryPolicy, longLived({ refusals: 19 }), 0, nowMs, 0);
  assert.equal(waitMs(refused), halfAnHourMs);
});

// A worker's share of a rate limit, with a clock of its own.

const origin = 'https://push.example.org';
const perSecond = 10;
const stepMs = 50;

test('the only row that is left is sent soon, however often others took its share before', async (t) => {
  let atMs = Date.UTC(2026, 10, 1);
  const { store, remove } = await openTestStore(() => atMs);
  t.after(remove);
  const limits = new RateLimits(new Map([[origin, perSecond]]), store.rates);
  const busyUntilMs = atMs + 10_000;
  const freeUntilMs = busyUntilMs + 5000;
  const attempts = { attempts: 0, deferrals: 0, expiresAtMs: atMs + 86_400_000 };
  let dueMs = atMs;
  let isSent = false;
  for (; !isSent && atMs < freeUntilMs; atMs += stepMs) {
    // other workers take everything
    if (atMs < busyUntilMs) await store.rates.take({ origin, perSecond, wanted: perSecond, rateLimited: 0 });
    await limits.replenish(atMs);
    if (atMs < dueMs) continue;
    const notSent = limits.admit(origin, true, atMs);
    isSent = notSent === undefined;
    if (notSent?.kind === 'rateLimited') dueMs = atMs + notSent.afterMs;
    if (notSent?.kind === 'deferred') {
      attempts.deferrals += 1;
      const retry = retryAfterDeferral(defaultRetryPolicy, attempts, notSent.afterMs, atMs, 0);
      if (typeof retry === 'object') dueMs = atMs + retry.delayMs;
    }
  }
  assert.ok(isSent);
});
