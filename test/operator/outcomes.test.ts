// What came of each subscription, as the API answers it: for one, for a person, and for all of a broadcast, as CSV too.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startSenderReport } from '../../src/delivery/reports/sender-report.ts';
import type { Problem } from '../../src/http/problem.ts';
import { explain, rowOutcomeView, toCsv } from '../../src/operations/outcomes.ts';
import { findSubscriptions, searchBatchSize, searchBroadcasts } from '../../src/operator/searches.ts';
import type { RowOutcome } from '../../src/store/attempts.ts';
import type { Broadcast, BroadcastSummary, Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import type { SenderReports } from '../../src/store/sending.ts';
import type { Store } from '../../src/store/store.ts';
import { createTransport } from '../../src/transport/create-transport.ts';
import { until } from '../../tools/until.ts';
import {
  idlePushService,
  madeUpSubscription,
  vapidPublicKey,
  workerReport,
} from '../store/made-up-subscription.ts';
import { addSubscriptions, commitSlices } from '../store/store-under-test.ts';
import { openTestStore } from '../store/test-database.ts';
import { signIn, wordsOf } from './console-visitor.ts';
import { codeOf, startOperator, startStage, stoppedClock } from './running-operator.ts';
import { pluck } from '../../tools/pluck.ts';

const origin = 'https://fcm.googleapis.com';
const message = { title: 'Tea', message: 'is ready' };

const answered = (
  recipient: Recipient,
  result: 'accepted' | 'gone' | 'rejected',
  record: Partial<NonNullable<RowResult['record']>>,
): RowResult => ({
  recipient,
  origin,
  attempts: 1,
  result,
  record: { atMs: Date.now(), attempt: 1, ...record },
});

interface Outcome {
  readonly broadcastId: number;
  readonly subscriptionId: number;
  readonly user?: string;
  readonly state: string;
  readonly explanation: string;
}
type Page = { readonly items: readonly Outcome[]; readonly next: number | null };

const hostile = '=cmd("x"),\u001B[31m\u202E';

test('the API answers why somebody got nothing, in the push service’s words, and nothing names an endpoint', async (t) => {
  const operator = await startOperator(t);
  const { store, sender, read, ask } = operator;
  const users = ['ada', 'ada', 'bob', 'x; =1+1'];
  await store.subscriptions.putAll(
    users.map((user, index) => ({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      assign: { user, tags: [] },
    })),
  );
  const { broadcast } = await sender.createBroadcast('all', message);
  await commitSlices(store, broadcast.id, (row) => {
    if (row.subscriptionId === 1) return answered(row, 'gone', { status: 410, detail: 'NotRegistered' });
    if (row.subscriptionId === 2) return answered(row, 'accepted', { status: 201 });
    return answered(row, 'rejected', { status: 403, reason: 'vapid-refused', detail: hostile });
  });
  const toBob = await sender.createBroadcast({ user: 'bob' }, message);
  const outcomes = `/v1/broadcasts/${broadcast.id}/outcomes`;

  const ofAda = (await read<Page>(`${outcomes}?user=ada`)).items;
  assert.deepEqual(pluck(ofAda, 'subscriptionId', 'state'), [
    [1, 'gone'],
    [2, 'accepted'],
  ]);
  // its row has left the store, and it is still the person's
  assert.equal(await store.subscriptions.findById(1), undefined);
  assert.match(ofAda[0]!.explanation, /said that the subscription has ended at \S+Z: “NotRegistered”\./);
  const [bobs] = (await read<Page>(`${outcomes}?subscription=3`)).items;
  assert.match(bobs!.explanation, /refused it with status 403 at .*The push service refuses our token/);
  const both = (await read<Page>(`${outcomes}?user=ada&subscription=2`)).items;
  assert.deepEqual(pluck(both, 'subscriptionId'), [2]);
  const notAda = (await read<Page>(`/v1/broadcasts/${toBob.broadcast.id}/outcomes?user=ada`)).items;
  assert.deepEqual(new Set(notAda.map(({ state }) => state)), new Set(['notInAudience']));
  assert.deepEqual((await read<Page>(`${outcomes}?user=nobody`)).items, []);

  const ofPerson = async (path: string) =>
    (await read<Page>(path)).items.map(({ broadcastId, subscriptionId }) => [broadcastId, subscriptionId]);
  assert.deepEqual(await ofPerson('/v1/people/ada/outcomes'), [
    [1, 1],
    [1, 2],
  ]);
  const longest = encodeURIComponent('ü'.repeat(64));
  assert.deepEqual(await ofPerson(`/v1/people/${longest}/outcomes`), []);
  assert.deepEqual(await ofPerson('/v1/subscriptions/3/outcomes'), [
    [2, 3],
    [1, 3],
  ]);
  for (const whom of ['subscriptions/3', 'people/bob']) {
    const newest = await read<Page>(`/v1/${whom}/outcomes?limit=1`);
    assert.deepEqual([newest.items.map(({ broadcastId }) => broadcastId), newest.next], [[2], 2]);
    assert.deepEqual(await ofPerson(`/v1/${whom}/outcomes?limit=1&cursor=${newest.next}`), [[1, 3]]);
  }

  const pages: Outcome[] = [];
  for (let cursor: number | null = 0; cursor !== null;) {
    const page: Page = await read<Page>(`${outcomes}?limit=3&cursor=${cursor}`);
    pages.push(...page.items);
    cursor = page.next;
  }
  assert.deepEqual(pluck(pages, 'subscriptionId'), [1, 2, 3, 4]);

  const csv = await ask(`${outcomes}.csv`);
  assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
  assert.match(csv.headers.get('content-disposition')!, /attachment; filename="broadcast-1-outcomes\.csv"/);
  const text = await csv.text();
  const lines = text.split('\r\n');
  assert.match(lines[1]!, /^1,,https:\/\/fcm\.googleapis\.com,gone,410,,NotRegistered,1,/);
  assert.match(
    lines[4]!,
    /^4,"x;' =1\+1",.*,rejected,403,vapid-refused,"'=cmd\(""x""\),\\u001b\[31m\\u202e",1,/,
  );
  assert.doesNotMatch(text + JSON.stringify(pages), /\/fcm\/send|p256dh|auth/);

  assert.equal(await codeOf(await ask('/v1/broadcasts/99/outcomes.csv')), 'ERR_BROADCAST_NOT_FOUND');
  assert.equal(await codeOf(await ask('/v1/broadcasts/99/outcomes?user=ada')), 'ERR_BROADCAST_NOT_FOUND');

  // of a person with more devices: the twenty oldest that are stored, and the twenty that have ended last
  await addSubscriptions(store, 42, 10, () => ({ assign: { user: 'eve', tags: [] } }));
  const ids = (await store.subscriptions.page({ afterId: 4, limit: 50 })).map(({ id }) => id);
  for (const ending of [ids.slice(-1), ids.slice(0, 20)]) {
    const toEve = await sender.createBroadcast({ user: 'eve' }, message);
    await commitSlices(store, toEve.broadcast.id, (row) =>
      answered(row, ending.includes(row.subscriptionId!) ? 'gone' : 'accepted', {}),
    );
    const endedAtMs = Date.now();
    await until(() => Date.now() > endedAtMs, 'that the next ones end later');
  }
  const ofEve = (await ofPerson('/v1/people/eve/outcomes')).map(([, id]) => id);
  assert.deepEqual(ofEve, [...ids.slice(0, 40), ...ids.slice(0, 40)]);
  await store.subscriptions.removeById(ids[40]!);
  for (let count = 0; count < 20; count += 1) await sender.createBroadcast({ user: 'eve' }, message);
  const visitor = await signIn(operator, 'read');
  const { html } = await visitor.open('/console/people?user=eve');
  assert.match(html, /There are more than 20;/);
  const [, olderUrl = ''] = /rel="next" href="([^"]+)"/.exec(html) ?? [];
  assert.match(olderUrl, /user=eve/);
});

test('the console answers it on the pages of broadcast, person and subscription, with exact numbers', async (t) => {
  const operator = await startOperator(t);
  const { store, sender } = operator;
  // more than any list on a page, and than a sample of attempts would have room for
  const gone = 300;
  await addSubscriptions(store, gone + 60, 0, (index) => ({
    assign: { user: index < 2 ? 'ada' : `user-${index}`, tags: [] },
  }));
  const { broadcast } = await sender.createBroadcast('all', message);
  await commitSlices(store, broadcast.id, (row) =>
    row.subscriptionId! <= gone
      ? answered(row, 'gone', { status: 410 })
      : answered(row, 'rejected', { status: 403, reason: 'vapid-refused', detail: 'BadJwtToken' }),
  );
  const { broadcast: second } = await sender.createBroadcast({ user: 'ada' }, message);
  const visitor = await signIn(operator, 'read');
  const words = async (path: string): Promise<string> => wordsOf(await visitor.open(path));
  const page = `/console/broadcasts/${broadcast.id}`;

  const all = await words(page);
  assert.match(all, /rejected 403 60 “ BadJwtToken ”/);
  assert.match(all, /gone 410 300 The push service says that the subscription has ended\./);
  assert.match(await words('/console/push-services'), /gone 410 300 .*rejected 403 60 “ BadJwtToken ”/s);
  // each outcome has all of its attempts, whatever the others are
  let listed = 0;
  for (let path: string | undefined = `${page}?outcome=rejected`; path !== undefined;) {
    const { html } = await visitor.open(path);
    listed += html.match(/href="\/console\/subscriptions\/\d+"/g)?.length ?? 0;
    path = /rel="next" href="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
  }
  assert.equal(listed, 60);

  const why = /fcm\.googleapis\.com said that the subscription has ended at .*Its deletion is held since /s;
  assert.match(await words(`${page}?user=ada`), why);
  assert.match(await words(`${page}?subscription=2`), why);
  assert.match(await words(`/console/broadcasts/${second.id}?user=user-9`), /not in the audience/);
  assert.match(await words(`${page}?subscription=x`), /named by its number/);
  assert.match(await words(`${page}?user=${'x'.repeat(200)}`), /cannot be searched for/);

  const person = await words('/console/people?user=ada');
  assert.match(person, /Devices .* 1 fcm\.googleapis\.com stored .* 2 fcm\.googleapis\.com stored/);
  assert.match(person, /not kept\. .*pending .*turn is still to come.*gone .*has ended/s);
  assert.match(await words('/console/people?user=nobody'), /No subscription of this user/);
  await store.heldDeletions.confirm(origin);
  assert.match(await words('/console/people?user=ada'), /1 fcm\.googleapis\.com ended .*has ended/s);
  assert.match(await words('/console/subscriptions/1'), /no longer stored.*has ended/s);
  assert.equal((await visitor.open('/console/subscriptions/99999')).status, 404);

  const csv = await fetch(`${operator.base}${page}/outcomes.csv`, { headers: { cookie: visitor.cookie } });
  assert.equal((await csv.text()).split('\r\n').length, gone + 60 + 2);
  while (await store.retention.prune({ attemptsBeforeMs: Date.now() + 1 }));
  const late = await words(`${page}?subscription=2`);
  assert.match(late, /no longer kept for this broadcast/);
  assert.match(late, /rejected 403 60/);
  assert.ok(!visitor.page.html.includes('outcomes.csv'));
});

test('CSV has the attempts of a wait whose list is gone, and no formula; JSON has the times of each attempt', () => {
  const row: RowOutcome = { broadcastId: 7, subscriptionId: 4, origin, state: 'waiting', attempts: [] };
  const wait = { for: 'pushService', expiresAtMs: 5000, attempts: 3 } as const;
  assert.match(toCsv([{ ...row, wait }]), new RegExp(`^4,,${origin},waiting,,,,3,,pushService,,`));
  for (const user of ['+1', '-1', '@a']) assert.ok(toCsv([{ ...row, user }]).startsWith(`4,'${user},`));
  const common = { broadcastId: 7, subscriptionId: 4, origin, outcome: 'retry' } as const;
  const attempts = [
    { ...common, id: 31, atMs: 3000, sinceMs: 2500, attempt: 2 },
    { ...common, id: 30, atMs: 1000, sinceMs: 0, attempt: 1 },
  ];
  const times = [
    { since: '1970-01-01T00:00:02.500Z', at: '1970-01-01T00:00:03.000Z' },
    { since: '1970-01-01T00:00:00.000Z', at: '1970-01-01T00:00:01.000Z' },
  ];
  assert.deepEqual(
    (rowOutcomeView.toJson({ ...row, attempts }) as { readonly attempts: unknown }).attempts,
    attempts.map(({ atMs: _at, sinceMs: _since, ...attempt }, index) => ({ ...attempt, ...times[index] })),
  );
});

test('what a row waits for, what its browser reported, and rare states are explained in words of their own', () => {
  const attempt = { broadcastId: 7, subscriptionId: 4, origin, id: 30, sinceMs: 0, atMs: 1000, attempt: 2 };
  const failed = {
    ...attempt,
    outcome: 'retry',
    status: 503,
    reason: 'server-error',
    detail: 'busy',
  } as const;
  const end = 'at 1970-01-01T00:00:01.000Z after 2 attempts: “busy”. The push service has a fault.';
  const last =
    ' The last attempt: retry, status 503, at 1970-01-01T00:00:01.000Z: “busy”. The push service has a fault.';
  const accepted = { state: 'accepted', attempts: [{ ...attempt, outcome: 'accepted' }] } as const;
  const acceptedWords = 'fcm.googleapis.com accepted it at 1970-01-01T00:00:01.000Z after 2 attempts. ';
  const due = { untilMs: 6000, expiresAtMs: 9000, attempts: 1 };
  const ends = 'at 1970-01-01T00:00:06.000Z, and expires at 1970-01-01T00:00:09.000Z.';
  const waits = {
    retry: `It is tried again ${ends}`,
    turn: `Nothing was sent yet: fcm.googleapis.com cannot take messages now, or a rate limit is used up. It is tried ${ends}`,
    localTime: `It waits for the time of its reader, or the end of their quiet hours. It is sent ${ends}`,
  } as const;
  const explained: readonly (readonly [Partial<RowOutcome> & Pick<RowOutcome, 'state'>, string])[] = [
    [
      { ...accepted, receipts: ['clicked', 'shown'] },
      `${acceptedWords}Its browser reported: shown, clicked.`,
    ],
    [{ ...accepted, receipts: [] }, `${acceptedWords}Its browser has reported nothing.`],
    [
      { ...accepted, receipts: 'noLongerKept' },
      `${acceptedWords}What its browser reported is no longer kept.`,
    ],
    ...(['retry', 'turn', 'localTime'] as const).map(
      (cause) => [{ state: 'waiting', wait: { for: cause, ...due } }, waits[cause]] as const,
    ),
    [
      { state: 'waiting', wait: { for: 'pushService', expiresAtMs: 9000, attempts: 1 } },
      'It waits until fcm.googleapis.com accepts our token or key again, and expires at 1970-01-01T00:00:09.000Z.',
    ],
    [{ state: 'rejected', attempts: [{ ...failed, status: undefined }] }, `It was not sent ${end}`],
    [{ state: 'inFlight', attempts: [failed] }, `It is being sent now.${last}`],
    [
      { state: 'preparing' },
      'The audience of the broadcast is not complete yet, and the subscription is not in it so far.',
    ],
    [
      { state: 'notInAudience', isLater: true },
      'It was not in the audience of the broadcast: it was registered later.',
    ],
    [
      { state: 'removed', attempts: [failed] },
      `It was removed from the store before it could be tried again.${last}`,
    ],
    [
      { state: 'notTracked' },
      'The broadcast is to a list of subscriptions that need not be stored: what came of single ones is not kept.',
    ],
    [{ state: 'noLongerKept' }, 'What came of single subscriptions is no longer kept for this broadcast.'],
  ];
  for (const [outcome, words] of explained)
    assert.equal(explain({ broadcastId: 7, subscriptionId: 4, origin, attempts: [], ...outcome }), words);
});

test('the CSV is read from the store as its reader takes it, and not at all once it has gone', async (t) => {
  const operator = await startOperator(t);
  const { store, sender, base } = operator;
  const count = 12_000;
  await addSubscriptions(store, count, 0, () => ({ assign: { user: '"'.repeat(128), tags: [] } }));
  const { broadcast } = await sender.createBroadcast('all', message);
  // in all more than the buffers of a connection hold
  await commitSlices(store, broadcast.id, (row) => answered(row, 'rejected', { detail: 'x'.repeat(1500) }));
  let reads = 0;
  const { outcomesAfter } = store.attempts;
  Object.assign(store.attempts, {
    outcomesAfter: (...given: Parameters<typeof outcomesAfter>) => {
      reads += 1;
      return outcomesAfter(...given);
    },
  });
  const token = await operator.add('reader', 'read');
  const socket = connect(Number(new URL(base).port), '127.0.0.1');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  socket.write(
    `GET /v1/broadcasts/${broadcast.id}/outcomes.csv HTTP/1.1\r\nhost: ${new URL(base).host}\r\nauthorization: Bearer ${token}\r\n\r\n`,
  );
  // whoever reads nothing has it wait; meanwhile others are answered
  let before = -1;
  await until(async () => {
    const isStill = reads > 0 && reads === before;
    before = reads;
    for (let asked = 0; asked < 20; asked += 1) await operator.read('/v1/broadcasts/1');
    return isStill;
  }, 'the export waits for its reader');
  const inAll = count / 2000;
  assert.ok(reads < inAll, `${reads} of ${inAll} parts are read ahead`);
  socket.destroy();
  const whole = await (await operator.ask(`/v1/broadcasts/${broadcast.id}/outcomes.csv`)).text();
  assert.equal(whole.split('\r\n').length, count + 2);
  assert.ok(reads <= before + inAll + 2, 'nothing is read for who has gone');
});

// GET /v1/push-services and /v1/senders: what senders reported to the store, in whatever process they are.

const untilReported = ({ senders }: Store) =>
  until(async () => (await senders.list()).length > 0, 'the report of a sender');

test('push services and senders come in pages', async (t) => {
  const { store, read } = await startOperator(t, { now: stoppedClock() });
  const put = (id: string, origins: readonly string[]) =>
    store.senders.put({
      ...workerReport,
      id,
      pushServices: origins.map((each) => ({ ...idlePushService, origin: each })),
    });
  await put('one', []);
  await put('two', []);
  type Names = { readonly items: readonly { readonly id: string }[]; readonly next: string | null };
  const page = await read<Names>('/v1/senders?limit=1');
  assert.deepEqual([pluck(page.items, 'id'), page.next], [['one'], 'one']);
  const rest = await read<Names>('/v1/senders?limit=1&cursor=one');
  assert.deepEqual([pluck(rest.items, 'id'), rest.next], [['two'], null]);
  assert.deepEqual(await read('/v1/push-services'), { items: [], next: null });
  await put(
    'one',
    Array.from({ length: 51 }, (_, index) => `https://${index + 10}.push.example`),
  );
  const listed = await read<Names>('/v1/push-services');
  assert.deepEqual([listed.items.length, listed.next], [50, 'https://59.push.example']);
});

test('a transport knows its connections, answers and 429s, and the report is taken back at the end', async (t) => {
  const { store, pushService, sender } = await startStage(t, [{}]);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [subscription] = await store.subscriptions.page({ afterId: 0, limit: 1 });
  const dingDong = { title: 'Ding dong', message: 'Tea is ready' };
  await sender.send(subscription!, dingDong);
  pushService.faults.inject({ kind: 'status', status: 429, retryAfter: 1, times: 1 });
  await sender.send(subscription!, dingDong);
  t.mock.timers.tick(2000);
  await untilReported(store);
  const [report] = await store.senders.list();
  assert.deepEqual([report?.kind, report?.processId], ['single', process.pid]);
  const [known] = report!.pushServices;
  assert.deepEqual(
    [known?.origin, known?.connections, known?.inFlight, known?.answers, known?.throttled, known?.breaker],
    [pushService.origin, 1, 0, 2, 1, 'closed'],
  );
  assert(known!.latencyMs! > 0);
  await sender.close();
  assert.deepEqual(await store.senders.list(), []);
});

/** A worker that has sent nothing. */
const startReport = (senders: object) =>
  startSenderReport(
    senders as SenderReports,
    { snapshot: () => [] },
    { kind: 'worker' },
    { differenceMs: undefined },
  );

test('a report that is on its way when its sender ends is taken back too', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const isAnswered = Promise.withResolvers<void>();
  const calls: string[] = [];
  const senders = {
    put: async () => {
      await isAnswered.promise;
      calls.push('stored');
    },
    remove: async () => void calls.push('removed'),
  };
  const end = startReport(senders);
  t.mock.timers.tick(2000);
  const ended = end();
  isAnswered.resolve();
  await ended;
  assert.deepEqual(calls, ['stored', 'removed']);
});

test('a sender ends within a second though its database takes back no report', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
  const senders = {
    put: async () => {},
    remove: () => new Promise(() => {}),
  };
  const end = startReport(senders);
  t.mock.timers.tick(2000);
  const ended = end();
  t.mock.timers.tick(1000);
  await ended;
});

test('a sender of single messages says nothing until it has sent, and then repeats itself only now and then', async (t) => {
  const { store } = await startOperator(t);
  const transport = createTransport();
  t.mock.timers.enable({ apis: ['setInterval'] });
  const noClock = { differenceMs: undefined };
  const end = startSenderReport(store.senders, transport, { kind: 'single' }, noClock);
  const endWorker = startSenderReport(store.senders, { snapshot: () => [] }, { kind: 'worker' }, noClock);
  t.mock.timers.tick(2000);
  await untilReported(store);
  assert.deepEqual(pluck(await store.senders.list(), 'kind'), ['worker']);
  await end();
  await endWorker();
  assert.deepEqual(await store.senders.list(), []);
  await transport.close();
});

// Channels and people in the operator's API: what is set, what is refused, and what the audit says of it.

test('channels are made, changed, listed by pages and removed', async (t) => {
  const { ask, read } = await startOperator(t);
  const change = (name: string, body: object) => read(`/v1/channels/${name}`, { method: 'PATCH', body });
  await change('sport', { title: 'Sport', isOnByDefault: false });
  const news = { name: 'news', title: 'News', titles: { de: 'Nachrichten' }, isOnByDefault: true };
  await change('news', { title: 'News', titles: { de: 'Neues', fr: 'Actualités' } });
  assert.deepEqual(await change('news', { titles: { DE: 'Nachrichten', fr: null } }), news);
  const first = await read<{ readonly next: string }>('/v1/channels?limit=1');
  assert.deepEqual(first, { items: [news], next: 'news' });
  const rest = await read<{ readonly items: readonly { readonly name: string }[] }>(
    `/v1/channels?cursor=${first.next}`,
  );
  assert.deepEqual(pluck(rest.items, 'name'), ['sport']);
  const remove = async () => (await ask('/v1/channels/sport', { method: 'DELETE' })).status;
  assert.deepEqual([await remove(), await remove()], [204, 404]);
});

test('a person is set and cleared member by member', async (t) => {
  const { ask, read } = await startOperator(t);
  const patch = (body: object) => read('/v1/people/ada', { method: 'PATCH', body });
  await read('/v1/channels/news', { method: 'PATCH', body: { title: 'News' } });
  const nothing = { user: 'ada', data: {}, channels: {} };
  assert.deepEqual(await read('/v1/people/ada'), nothing);
  await patch({ data: { name: 'Ada', points: 3 }, language: 'PT-br', timeZone: 'Europe/Berlin' });
  assert.deepEqual(await patch({ data: { points: null }, timeZone: null, channels: { news: false } }), {
    user: 'ada',
    data: { name: 'Ada' },
    language: 'pt-BR',
    channels: { news: false },
  });
  assert.deepEqual(await patch({ data: null, language: null, channels: null }), nothing);
  const refused = await ask('/v1/people/ada', { method: 'PATCH', body: { channels: { nwes: true } } });
  assert.equal(refused.status, 404);
  const { code, detail, errors } = (await refused.json()) as Problem;
  assert.equal(detail, 'There is no channel "nwes"; there are news.');
  assert.deepEqual(errors, [{ pointer: '/channels/nwes', code, detail }]);
});

// Searches of subscriptions by push service, where it has few of very many rows, and of broadcasts among very many.

const apple = 'https://web.push.apple.com';
const google = 'https://fcm.googleapis.com';
/** More than a search looks at. */
const rows = 12_000;

test('few subscriptions of a push service or with a tag are found at once among very many', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  await store.subscriptions.putAll(
    Array.from({ length: rows }, (_, index) => {
      const subscription = madeUpSubscription(index);
      const isApple = index >= rows - 4;
      return {
        subscription: {
          ...subscription,
          endpoint: isApple ? subscription.endpoint.replace(google, apple) : subscription.endpoint,
        },
        vapidPublicKey,
        // the last of each push service has the rare tag
        assign: { tags: index === rows - 1 || index === rows - 5 ? ['news', 'rare'] : ['news'] },
      };
    }),
  );
  const find = async (
    pushService: string,
    tags?: { readonly all?: string[]; readonly none?: string[] },
    limit = 3,
    afterId?: number,
  ) => {
    const filter = { pushService, matching: tags && { tags } };
    const found = await findSubscriptions(store, filter, { afterId, limit });
    return [found.items.map(({ id }) => id), found.next];
  };
  const last = rows - 4;
  assert.deepEqual(await find(apple), [[last + 1, last + 2, last + 3], last + 3]);
  assert.deepEqual(await find(apple, undefined, 4), [[last + 1, last + 2, last + 3, last + 4], undefined]);
  // by the name that is shown, too, and then all hosts of it
  await store.subscriptions.put(
    { ...madeUpSubscription(0), endpoint: 'https://api.push.apple.com/1' },
    vapidPublicKey,
  );
  const name = 'https://push.apple.com';
  assert.deepEqual(await find(name), [[last + 1, last + 2, last + 3], last + 3]);
  assert.deepEqual(await find(name, undefined, 3, last + 3), [[last + 4, rows + 1], undefined]);
  assert.deepEqual(await find(name, { all: ['news'] }, 9), [
    [last + 1, last + 2, last + 3, last + 4],
    undefined,
  ]);
  assert.deepEqual(await find(google), [[1, 2, 3], 3]);
  assert.deepEqual(await find('https://nobody.example'), [[], undefined]);
  for (const none of ['no origin', 'mailto:ops@example.org'])
    assert.deepEqual(await find(none), [[], undefined]);
  for (const written of [`${apple}/`, 'https://Web.push.apple.com:443'])
    assert.deepEqual(await find(written, undefined, 1), [[last + 1], last + 1], written);
  // the rarer of the two says where to look
  assert.deepEqual(await find(apple, { all: ['news'] }), [[last + 1, last + 2, last + 3], last + 3]);
  assert.deepEqual(await find(apple, { all: ['news'] }, 3, last + 3), [[last + 4], undefined]);
  assert.deepEqual(await find(apple, { all: ['news'], none: ['rare'] }, 4), [
    [last + 1, last + 2, last + 3],
    undefined,
  ]);
  assert.deepEqual(await find(google, { all: ['rare'] }), [[last], undefined]);
  assert.deepEqual(await find('https://nobody.example', { all: ['news'] }), [[], undefined]);
});

const payloadOf = (title: string) => Buffer.from(JSON.stringify({ title, message: '' }));

test('of very many broadcasts all that fit are found, some thousands looked at for each page', async () => {
  const [tea, coffee] = [payloadOf('Tea'), payloadOf('Coffee')];
  const all = Array.from({ length: searchBatchSize + 700 }, (_, index): BroadcastSummary => {
    const id = searchBatchSize + 700 - index;
    return {
      id,
      state: 'done',
      startAtMs: 0,
      createdBy: undefined,
      payload: [1, 650, 5000].includes(id) ? tea : coffee,
    };
  });
  const store = {
    summaries: async ({ beforeId = Infinity, limit }: { beforeId?: number | undefined; limit: number }) =>
      all.filter(({ id }) => id < beforeId).slice(0, limit),
    findAll: async (ids: readonly number[]) => ids.map((id) => ({ id }) as Broadcast),
  };
  const find = async (limit: number, beforeId?: number) => {
    const found = await searchBroadcasts(store, { text: 'tea' }, { limit, beforeId });
    return [found.items.map(({ id }) => id), found.next];
  };
  // one page looks through as far as 701
  assert.deepEqual(await find(9), [[5000], 701]);
  assert.deepEqual(await find(9, 701), [[650, 1], undefined]);
  assert.deepEqual(await find(1, 701), [[650], 650]);
});
