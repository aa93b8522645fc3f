// What is said of a broadcast: its progress, and what its push services answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDelivered, formatProgress } from '../../src/cli/send/run-broadcast.ts';
import { findManyEnded, findUnanimous } from '../../src/delivery/alarms/push-service-conditions.ts';
import { totalReceipts } from '../../src/delivery/broadcast/format-broadcast.ts';
import { htmlText } from '../../src/http/description/html.ts';
import { renderCharts, renderServices } from '../../src/operator/console/pages/broadcast-progress.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { OutcomeInterval } from '../../src/store/statistics.ts';
import { noOutcomes } from '../store/made-up-subscription.ts';

const origin = 'https://web.push.apple.com';
const counts = { ...noOutcomes, accepted: 1, rejected: 50 };
const broadcast: Broadcast = {
  id: 7,
  state: 'running',
  payload: new Uint8Array(1),
  ttlSeconds: 60,
  urgency: 'normal',
  createdAtMs: 0,
  startAtMs: 0,
  expiresAtMs: 0,
  audience: 'all',
  createdBy: { operator: 'ada' },
  recipients: 2000,
  counts: { ...counts, pending: 1949, removed: 0, cancelled: 0, unaccounted: 0 },
  waiting: 1949,
  toRetry: 9,
  heldBack: [{ origin, rows: 1940 }],
  origins: [{ origin, attempts: 51, ...counts }],
  alarms: [],
  receipts: undefined,
};

test('the progress has share, rate, time left, and the outcomes of each push service', () => {
  const accepted = { ...counts, accepted: 947, rejected: 0, gone: 2 };
  const origins = [
    ...broadcast.origins,
    { origin: 'https://fcm.googleapis.com', attempts: 949, ...accepted },
  ];
  const sending = {
    ...broadcast,
    counts: { ...broadcast.counts, accepted: 948 },
    waiting: 0,
    toRetry: 0,
    heldBack: [],
    origins,
  };
  assert.equal(
    formatProgress({ broadcast: sending, settled: 1000, ratePerSecond: 16.4, etaSeconds: 61 }),
    '[#########···········] 47 %  948 of 2,000 reached  16/s  1 min 1 s left  ' +
      'push.apple.com: 1 accepted, 50 rejected  fcm.googleapis.com: 947 accepted, 2 gone',
  );
});

test('the progress tells apart what waits for a retry and what is held back, and why', () => {
  const line = formatProgress({ broadcast, settled: 51, ratePerSecond: 0 });
  assert.match(line, / {2}9 to be tried again {2}1,940 held back by push\.apple\.com {2}/);
  const open = { ...broadcast, toRetry: 1949, heldBack: [] };
  assert.match(
    formatProgress({ broadcast: open, settled: 51, ratePerSecond: 0 }),
    / {2}1,949 to be tried again {2}/,
  );
  assert.doesNotMatch(
    formatProgress({ broadcast: open, settled: 51, ratePerSecond: 0 }),
    /held back|put off/,
  );
  const untried = { ...broadcast, toRetry: 2 };
  assert.match(
    formatProgress({ broadcast: untried, settled: 51, ratePerSecond: 0 }),
    / 2 to be tried again {2}7 put off/,
  );
});

test('what browsers reported is of all push services together', () => {
  const receipts = [
    { origin: 'https://fcm.googleapis.com', shown: 3, clicked: 2, dismissed: 1, actions: { buy: 2 } },
    { origin, shown: 1, clicked: 1, dismissed: 0, actions: { buy: 1, read: 0 } },
  ];
  const actions = { buy: 3, read: 0 };
  assert.deepEqual(totalReceipts({ receipts }), { shown: 4, clicked: 3, dismissed: 1, actions });
});

const sent = (host: string, accepted: number) => ({
  origin: host,
  attempts: accepted,
  ...counts,
  accepted,
  rejected: 0,
});

test('the hosts of one push service are one row, with their sums', () => {
  const [one, other] = ['https://am3p.notify.windows.com', 'https://db5p.notify.windows.com'] as const;
  const hosts: Broadcast = {
    ...broadcast,
    origins: [sent(one, 3), sent(other, 4)],
    heldBack: [one, other].map((host) => ({ origin: host, rows: 5 })),
  };
  const services = htmlText(renderServices(hosts))
    .replaceAll('<wbr />', '')
    .replaceAll(/<[^>]*>|\s+/g, ' ');
  assert.match(services, /notify\.windows\.com +7 +7 +10\b/);
  assert.equal(services.match(/notify\.windows\.com/g)!.length, 1);
  assert.match(
    formatProgress({ broadcast: hosts, settled: 7, ratePerSecond: 0 }),
    / {2}10 held back by notify\.windows\.com {2}.*notify\.windows\.com: 7 accepted$/,
  );
});

const startAtMs = 1_800_000_000_000;
const acceptedAt = (startSeconds: number, accepted: number): OutcomeInterval => ({
  startMs: startAtMs + startSeconds * 1000,
  widthMs: 10_000,
  pushService: 'fcm.googleapis.com',
  ...noOutcomes,
  attempts: accepted,
  accepted,
});

const chart = (lateSeconds: number): string =>
  htmlText(
    renderCharts({ ...broadcast, startAtMs }, [
      ...Array.from({ length: 20 }, (_, index) => acceptedAt(index * 10, 10)),
      acceptedAt(lateSeconds, 1),
    ]),
  );

const ticks = (html: string) =>
  Array.from(html.matchAll(/<span>([^<]*)<\/span>/g), ([, text]) => text).slice(-3);

test('a straggler does not flatten the chart: it is in the last bar', () => {
  assert.deepEqual(ticks(chart(230)), ['start', '2 min', '4 min']);
  assert.deepEqual(ticks(chart(7200)), ['start', '1 min 50 s', '3 min 40 s and later']);
  assert.match(chart(7200), /<p[^>]*>\s*<span>201 accepted/);
});

test('a command has failed where a message to a live subscription was not accepted, or its broadcast did not end', () => {
  const none = { ...counts, rejected: 0, pending: 0, removed: 0, cancelled: 0, unaccounted: 0 };
  for (const name of ['rejected', 'expired', 'exhausted'] as const) {
    assert.throws(() => assertDelivered({ ...broadcast, state: 'done', counts: { ...none, [name]: 1 } }), {
      code: 'ERR_NOT_ACCEPTED',
    });
  }
  for (const state of ['paused', 'running', 'cancelled'] as const)
    assert.throws(() => assertDelivered({ ...broadcast, state, counts: none }), {
      code: 'ERR_BROADCAST_UNFINISHED',
    });
  assertDelivered({
    ...broadcast,
    state: 'done',
    counts: { ...none, gone: 1, capped: 1, dormant: 1, removed: 1 },
  });
});

// What the newest answers of a push service must say before it is an alarm: how many, and how many of them.

interface Answers {
  readonly accepted?: number;
  readonly gone?: number;
  readonly rejected?: number;
}

/** The alarms over these intervals, the oldest first, one in each millisecond. */
const alarmsOf = (...intervals: readonly Answers[]) =>
  findUnanimous(answersAt('push.example.net', intervals));

const answersAt = (pushService: string, intervals: readonly Answers[]): readonly OutcomeInterval[] =>
  intervals.map((answers, index) => ({
    startMs: index,
    widthMs: 1,
    pushService,
    attempts: 0,
    ...noOutcomes,
    ...answers,
  }));
const kindsOf = (...intervals: readonly Answers[]): readonly string[] =>
  alarmsOf(...intervals).map(({ kind }) => kind);

test('at most 5 % of the answers are acceptances, and at least 95 % call the subscription gone', () => {
  assert.deepEqual(kindsOf({ accepted: 5, rejected: 95 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ accepted: 6, rejected: 94 }), []);
  assert.deepEqual(kindsOf({ gone: 95, rejected: 5 }), ['all-gone']);
  assert.deepEqual(kindsOf({ gone: 95, accepted: 5 }), ['all-gone']);
  assert.deepEqual(kindsOf({ gone: 94, rejected: 6 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ gone: 94, accepted: 6 }), []);
});

test('fewer than twenty answers say nothing', () => {
  assert.deepEqual(kindsOf({ rejected: 19 }), []);
  assert.deepEqual(kindsOf({ rejected: 20 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ gone: 19 }), []);
  assert.deepEqual(kindsOf({ gone: 10 }, { gone: 10 }), ['all-gone']);
});

test('the newest hundred answers decide, whatever was before', () => {
  assert.deepEqual(kindsOf({ accepted: 1000 }, { rejected: 60 }, { rejected: 40 }), ['accepts-nothing']);
  assert.deepEqual(kindsOf({ accepted: 1000 }, { rejected: 60 }, { rejected: 39 }), []);
  assert.deepEqual(kindsOf({ rejected: 1000 }, { accepted: 6, rejected: 94 }), []);
});

test('an alarm says since when it is so, and of how many messages', () => {
  const [alarm] = alarmsOf({ accepted: 50 }, { rejected: 30 }, { rejected: 70 }, { rejected: 40 });
  assert.deepEqual([alarm?.sinceMs, alarm?.count, alarm?.unit], [1, 140, 'message']);
});

const manyEnded = (apple: readonly Answers[], ...others: readonly Answers[]) =>
  findManyEnded([...answersAt('push.apple.com', apple), ...answersAt('fcm.googleapis.com', others)]).map(
    ({ kind, sinceMs, count }) => [kind, sinceMs, count],
  );

test('Apple ends many subscriptions if it is 5 % of its answers and three times the share elsewhere', () => {
  const elsewhere = { accepted: 990, gone: 10 };
  const many = { accepted: 380, gone: 24 };
  const found = [['many-ended', 1, 24]];
  assert.deepEqual(manyEnded([{ accepted: 10 }, many], elsewhere), found);
  assert.deepEqual(manyEnded([{ accepted: 10 }, { accepted: 480, gone: 24 }], elsewhere), [], 'below 5 %');
  assert.deepEqual(manyEnded([{ accepted: 10, gone: 19 }], elsewhere), [], 'too few');
  assert.deepEqual(manyEnded([many], { accepted: 950, gone: 50 }), [], 'as elsewhere');
  assert.deepEqual(manyEnded([many], { accepted: 99 }), [], 'too few to compare with');
  assert.deepEqual(manyEnded([{ gone: 400 }], elsewhere), [], 'all have another alarm');
  assert.deepEqual(findManyEnded(answersAt('fcm.googleapis.com', [many])), []);
});
