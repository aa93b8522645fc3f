// A worker's share of a rate limit, with a clock of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimits } from '../../src/delivery/limits/rate-limits.ts';
import { SingleMessageRates } from '../../src/delivery/single/single-message-rates.ts';
import { defaultRetryPolicy, retryAfterDeferral } from '../../src/delivery/settings/retry-policy.ts';
import { openTestStore } from '../store/test-database.ts';

const origin = 'https://push.example.org';
const perSecond = 10;
const stepMs = 50;

test('the only row that is left is sent soon, however often others took its share before', async (t) => {
  let nowMs = Date.UTC(2026, 10, 1);
  const { store, remove } = await openTestStore(() => nowMs);
  t.after(remove);
  const limits = new RateLimits(new Map([[origin, perSecond]]), store.rates);
  const busyUntilMs = nowMs + 10_000;
  const freeUntilMs = busyUntilMs + 5000;
  const tries = { attempts: 0, deferrals: 0, expiresAtMs: nowMs + 86_400_000 };
  let dueMs = nowMs;
  let isSent = false;
  for (; !isSent && nowMs < freeUntilMs; nowMs += stepMs) {
    // other workers take everything
    if (nowMs < busyUntilMs) await store.rates.take({ origin, perSecond, wanted: perSecond, rateLimited: 0 });
    await limits.replenish(nowMs);
    if (nowMs < dueMs) continue;
    const notSent = limits.admit(origin, true, nowMs);
    isSent = notSent === undefined;
    if (notSent?.kind === 'rateLimited') dueMs = nowMs + notSent.afterMs;
    if (notSent?.kind === 'deferred') {
      tries.deferrals += 1;
      const retry = retryAfterDeferral(defaultRetryPolicy, tries, notSent.afterMs, nowMs, 0);
      if (typeof retry === 'object') dueMs = nowMs + retry.delayMs;
    }
  }
  assert.ok(isSent);
});

test('a rate limits single messages to push services that nobody has listed, and to no others', () => {
  const rates = new SingleMessageRates(new Map([[origin, 1]]));
  const admitted = (isUnlisted: boolean) =>
    [1, 2, 3].map(() => rates.admit({ origin, isUnlisted }, 10_000) === undefined);
  assert.deepEqual(admitted(false), [true, true, true]);
  assert.deepEqual(admitted(true), [true, false, false]);
});
