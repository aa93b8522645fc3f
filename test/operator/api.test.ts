// The operator's API against a real store and a real push service.
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { until } from '../../tools/until.ts';
import { suite, test } from 'node:test';
import type { Problem } from '../../src/http/problem.ts';
import { attemptOutcomes } from '../../src/store/attempts.ts';
import { deliveryOptions } from '../../src/store/delivery-options.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import type { UserAndTags } from '../../src/audience/user-and-tags.ts';
import { sentMessageToJson } from '../../src/operations/message.ts';
import {
  idlePushService,
  madeUpSubscription,
  nothingRemoved,
  vapidPublicKey,
  workerReport,
} from '../store/made-up-subscription.ts';
import { addSubscriptions, recordAnswer } from '../store/store-under-test.ts';
import { codeOf, startStage, stoppedClock, type RunningOperator } from './running-operator.ts';
import { pluck } from '../../tools/pluck.ts';

const newKey = (): string => generateVapidKeys().publicKey;

interface Page<Item = Record<string, unknown>> {
  readonly items: readonly Item[];
  readonly next: number | null;
}

interface Shown {
  readonly id: number;
  readonly state: string;
  readonly title?: string;
  readonly audience?: unknown;
  readonly createdBy?: unknown;
  readonly recipients: number;
}

const message = { title: 'Ding dong', message: 'Tea is ready' };

async function assignedIn(response: Response) {
  const { user, tags } = (await response.json()) as UserAndTags;
  return [response.status, user, tags];
}

async function outcomesOf(response: Response) {
  const { items } = (await response.json()) as Page<{ readonly outcome: string }>;
  return items.map(({ outcome }) => outcome);
}

async function auditOf({ read }: RunningOperator) {
  const { items } = await read<Page>('/v1/audit');
  return items.map(({ operator, action, target, status }) => [operator, action, target, status]);
}

suite('POST /v1/messages', () => {
  test('sends to an id and answers what the push service said', async (t) => {
    const stage = await startStage(t);
    const { send } = stage.sender;
    let audit: unknown;
    t.mock.method(stage.sender, 'send', async (...given: Parameters<typeof send>) => {
      audit = await auditOf(stage);
      return send(...given);
    });
    const { finish } = stage.store.audit;
    let isRecorded = false;
    t.mock.method(stage.store.audit, 'finish', async (...given: Parameters<typeof finish>) => {
      for (let looks = 0; looks < 3; looks += 1) await auditOf(stage);
      await finish(...given);
      isRecorded = true;
    });
    const { items, reachedNobody } = await stage.read<Page & { readonly reachedNobody: boolean }>(
      '/v1/messages',
      { method: 'POST', body: { to: { id: 1 }, message } },
    );
    assert.equal(reachedNobody, false);
    assert.equal(isRecorded, true, 'before the answer');
    assert.deepEqual(audit, [['tester', 'message.send', undefined, undefined]], 'before the change');
    assert.deepEqual(items, [
      { id: 1, pushService: stage.pushService.origin, outcome: 'accepted', status: 201 },
    ]);
    assert.deepEqual(JSON.parse((await stage.userAgent.nextMessage()).text()), message);
    assert.deepEqual(await auditOf(stage), [['tester', 'message.send', 'subscription 1', 200]]);
  });

  test('sends to every device of a user, and the audit names the user by a hash only', async (t) => {
    const stage = await startStage(t, [{ user: 'ada' }, { user: 'bob' }, { user: 'ada' }]);
    // at a push service that is not listed any more, and with a key of somebody else
    const { publicKey: foreign } = generateVapidKeys();
    const other = { ...madeUpSubscription(1), endpoint: 'https://push.example.net/1' };
    await stage.store.subscriptions.put(other, foreign, { assign: { user: 'ada' } });
    const body = { to: { user: 'ada' }, message };
    const { items } = await stage.read<Page>('/v1/messages', { method: 'POST', body });
    assert.deepEqual(pluck(items, 'id', 'outcome'), [
      [1, 'accepted'],
      [3, 'accepted'],
      [4, 'rejected'],
    ]);
    const { detail, ...refused } = items[2]!;
    assert.deepEqual(refused, { id: 4, pushService: 'https://push.example.net', outcome: 'rejected' });
    assert.match(String(detail), /push\.example\.net/);
    const alone = await stage.ask('/v1/messages', { method: 'POST', body: { to: { id: 4 }, message } });
    assert.deepEqual([alone.status, await codeOf(alone)], [400, 'ERR_SUBSCRIPTION_INVALID']);
    assert.deepEqual((await auditOf(stage)).slice(1), [['tester', 'message.send', 'user #3', 200]]);

    await stage.store.webhooks.watch();
    stage.pushService.faults.inject({ kind: 'status', status: 413, times: 1 });
    const toBob = { method: 'POST', body: { to: { user: 'bob' }, message } };
    const refusal = await stage.read<Page & { readonly reachedNobody: boolean }>('/v1/messages', toBob);
    assert.deepEqual([refusal.items[0]!['outcome'], refusal.reachedNobody], ['rejected', true]);
    const [event] = await stage.store.webhooks.lease({ limit: 9, leaseMs: 60_000 });
    assert.deepEqual(event?.type === 'person.unreached' && event.user, 'bob');

    const { vapidKeys } = stage.store;
    const own = (await vapidKeys.current())!;
    const [second, third, fourth] = [newKey(), newKey(), newKey()];
    await vapidKeys.makeCurrent(second);
    await vapidKeys.makeCurrent(third);
    await vapidKeys.prepare(fourth);
    await vapidKeys.retire(own, { force: true });
    const { items: keys } = await stage.read<Page<{ publicKey: string; state: string }>>('/v1/keys');
    assert.deepEqual(Object.fromEntries(keys.map(({ publicKey, state }) => [publicKey, state])), {
      [own]: 'retired',
      [second]: 'previous',
      [third]: 'current',
      [fourth]: 'next',
    });
  });

  test('each device gets the text for its reader; none gets any where a value is missing', async (t) => {
    const stage = await startStage(t, [{ user: 'ada' }, { user: 'ada' }, { user: 'bob' }, {}]);
    const { store } = stage;
    const rows = await store.subscriptions.page({ afterId: 0, limit: 9 });
    const languages = ['de-AT', 'en', 'de', 'fr'];
    await store.subscriptions.putAll(
      rows.map((row, index) => ({
        subscription: row,
        vapidPublicKey: row.vapidPublicKey,
        language: languages[index],
      })),
    );
    await store.readers.setPerson('ada', { data: { name: 'Ada', count: 3 } });
    await store.readers.setPerson('bob', { data: { name: 'Bob {count}', count: 9 }, language: 'fr' });
    const forReaders = {
      title: 'Hello {name|there}',
      message: '{count|Some} messages',
      texts: {
        de: { title: 'Hallo {name|du}', message: '{count} Nachrichten' },
        fr: { title: 'Salut {name|toi}' },
      },
      placeholders: true,
    };
    const options = { urgency: 'low', ttlSeconds: 600, topic: 'tea' };
    const send = (to: object) =>
      stage.ask('/v1/messages', { method: 'POST', body: { to, message: forReaders, ...options } });
    const received = async (count: number) => {
      const payloads = [];
      for (let index = 0; index < count; index += 1)
        payloads.push((await stage.userAgent.nextMessage()).json() as typeof message);
      return payloads.map(({ title, message: text }) => `${title}: ${text}`).toSorted();
    };
    const sent = t.mock.method(stage.sender, 'sendPayload');
    assert.equal((await send({ user: 'ada' })).status, 200);
    assert.deepEqual(
      sent.mock.calls.map((call) => call.arguments[2]),
      [options, options],
    );
    assert.deepEqual(await received(2), ['Hallo Ada: 3 Nachrichten', 'Hello Ada: 3 messages']);
    assert.equal((await send({ id: 3 })).status, 200);
    assert.deepEqual(await received(1), ['Salut Bob {count}: 9 messages']);
    const [, , bob, anonymous] = rows;
    const { outcome } = await stage.sender.send(anonymous!, forReaders);
    assert.equal(outcome.kind, 'accepted');
    assert.deepEqual(await received(1), ['Salut toi: Some messages']);
    await stage.sender.send(bob!, forReaders, { reader: { language: 'de-ch', data: { count: 7 } } });
    assert.deepEqual(await received(1), ['Hallo Bob {count}: 7 Nachrichten']);

    await store.readers.setPerson('ada', { data: { count: null, name: 'Secret' } });
    const refused = await send({ user: 'ada' });
    assert.equal(refused.status, 422);
    const { code, detail, errors } = (await refused.json()) as Problem;
    assert.equal(code, 'ERR_PLACEHOLDER_VALUE');
    assert.deepEqual(errors, [{ pointer: '/message/texts/de/message', code, detail }]);
    assert.match(detail, /placeholder \{count\} in texts\.de\.message of the message/);
    assert.doesNotMatch(detail, /Secret/);
    assert.equal(stage.pushService.statistics().answers[201], 5);
  });

  test('a repeated request with the same key sends nothing and gets the first answer', async (t) => {
    const stage = await startStage(t);
    const accepted = () => stage.pushService.statistics().answers[201];
    const body = { to: { id: 1 }, message, urgency: 'high' };
    const post = (changed = {}, key = 'order-7') =>
      stage.ask('/v1/messages', {
        method: 'POST',
        body: { ...body, ...changed },
        headers: { 'idempotency-key': key },
      });
    const first = await post();
    const answer = await first.text();
    assert.equal(first.status, 200);
    const again = await post();
    assert.deepEqual([again.status, await again.text()], [200, answer]);
    const reordered = await post({ message: { message: message.message, title: message.title } });
    assert.equal(reordered.status, 200);
    assert.equal(accepted(), 1);

    for (const changed of [
      { urgency: 'low' },
      { to: { id: 2 } },
      { message: { ...message, title: 'Dong' } },
    ]) {
      const other = await post(changed);
      assert.deepEqual([other.status, await codeOf(other)], [422, 'ERR_IDEMPOTENCY_KEY']);
    }
    assert.equal((await post({}, 'x'.repeat(201))).status, 400);
    const { finish } = stage.store.messageRequests;
    let isStored = false;
    t.mock.method(stage.store.messageRequests, 'finish', async (...given: Parameters<typeof finish>) => {
      for (let looks = 0; looks < 3; looks += 1) await auditOf(stage);
      await finish(...given);
      isStored = true;
    });
    assert.equal((await post({}, 'x'.repeat(200))).status, 200);
    assert.equal(isStored, true, 'the answer, before it is given');
    assert.equal((await post({ to: { id: 99 } }, 'order-8')).status, 404);
    assert.equal((await post({}, 'order-8')).status, 200, 'what was not sent leaves the key free');
    assert.equal(accepted(), 3);
  });

  test('a key whose message is being sent, or was when the process ended, sends nothing', async (t) => {
    const stage = await startStage(t);
    stage.pushService.faults.inject({ kind: 'delay', ms: 500, times: 1 });
    const post = () =>
      stage.ask('/v1/messages', {
        method: 'POST',
        body: { to: { id: 1 }, message },
        headers: { 'idempotency-key': 'order-7' },
      });
    const responses = await Promise.all([post(), post()]);
    const late = responses.find(({ status }) => status !== 200);
    assert.deepEqual([late?.status, late && (await codeOf(late))], [409, 'ERR_MESSAGE_IN_DOUBT']);
    assert.equal((await post()).status, 200);
    assert.equal(stage.pushService.statistics().answers[201], 1);
  });

  test('where no device accepts and one may later, the answer is a 503, so that curl --retry repeats it', async (t) => {
    const stage = await startStage(t, [{ user: 'me' }, { user: 'me' }]);
    const post = (headers = {}) =>
      stage.ask('/v1/messages?user=me', {
        method: 'POST',
        body: 'Backups are done',
        headers: { 'content-type': 'text/plain', ...headers },
      });
    const key = { 'idempotency-key': 'backup-7' };
    stage.pushService.faults.inject({ kind: 'status', status: 503, retryAfter: 7, times: 2 });
    const busy = await post(key);
    const problem = (await busy.json()) as { readonly code: string; readonly items: readonly object[] };
    assert.deepEqual([busy.status, problem.code], [503, 'ERR_MESSAGE_RETRY']);
    assert.equal(busy.headers.get('retry-after'), '7');
    const pushService = stage.pushService.origin;
    const answer = { outcome: 'retry', status: 503, reason: 'server-error', detail: 'injected fault' };
    const item = { pushService, ...answer, retryAfterSeconds: 7 };
    assert.deepEqual(problem.items, [
      { id: 1, ...item },
      { id: 2, ...item },
    ]);
    assert.deepEqual((await auditOf(stage))[0], ['tester', 'message.send', 'user #2', 503]);

    const again = await post(key);
    assert.deepEqual([again.status, await outcomesOf(again)], [503, ['retry', 'retry']], 'it asked to wait');
    assert.equal(stage.pushService.statistics().answers[201], undefined, 'it is left alone');
  });

  test('a message that no device accepted can be sent again with its key, and the shortest wait is named', async (t) => {
    const asked = await startStage(t, [{ user: 'me' }, { user: 'me' }]);
    for (const retryAfter of [9, 7])
      asked.pushService.faults.inject({ kind: 'status', status: 503, retryAfter, times: 1 });
    const to = { method: 'POST', body: 'Backups are done', headers: { 'content-type': 'text/plain' } };
    assert.equal((await asked.ask('/v1/messages?user=me', to)).headers.get('retry-after'), '7');

    const stage = await startStage(t, [{ user: 'me' }, { user: 'me' }]);
    const pushService = stage.pushService.origin;
    const post = (headers = {}) =>
      stage.ask('/v1/messages?user=me', { ...to, headers: { ...to.headers, ...headers } });
    const key = { 'idempotency-key': 'backup-7' };
    stage.pushService.faults.inject({ kind: 'status', status: 503, times: 2 });
    assert.equal((await post(key)).status, 503);
    const again = await post(key);
    assert.deepEqual([again.status, await outcomesOf(again)], [200, ['accepted', 'accepted']]);

    for (const status of [503, 413]) stage.pushService.faults.inject({ kind: 'status', status, times: 1 });
    const later = await post();
    assert.equal(later.status, 503, 'one may accept it later, and the other does not');
    assert.equal(later.headers.get('retry-after'), null, 'nobody has asked for a time');
    const deferred = { kind: 'retry', reason: 'deferred', afterMs: 1200, slowsOrigin: true } as const;
    const { retryAfterSeconds } = sentMessageToJson(1, pushService, {
      outcome: deferred,
      response: undefined,
    });
    assert.equal(retryAfterSeconds, 2, 'no earlier than after 1.2 s');

    stage.pushService.faults.inject({ kind: 'status', status: 503, times: 1 });
    const partly = await post();
    assert.deepEqual([partly.status, (await outcomesOf(partly)).toSorted()], [200, ['accepted', 'retry']]);
    stage.pushService.faults.inject({ kind: 'status', status: 413, times: 2 });
    const refused = await post();
    assert.deepEqual([refused.status, await outcomesOf(refused)], [200, ['rejected', 'rejected']]);
    for (const status of [503, 410]) stage.pushService.faults.inject({ kind: 'status', status, times: 1 });
    assert.equal((await post()).status, 503, 'one may accept it later, and the other has ended');
    stage.pushService.faults.inject({ kind: 'status', status: 410, times: 1 });
    const gone = await post();
    assert.deepEqual([gone.status, await outcomesOf(gone)], [200, ['gone']]);
  });

  test('a key whose message got no answer from the push service is not sent again', async (t) => {
    const stage = await startStage(t, [{ user: 'me' }, { user: 'me' }]);
    const { faults } = stage.pushService;
    const post = (key: string, to: object) =>
      stage.ask('/v1/messages', {
        method: 'POST',
        body: { to, message },
        headers: { 'idempotency-key': key },
      });
    const assertInDoubt = async (key: string, to: object) => {
      const lost = await post(key, to);
      assert.deepEqual([lost.status, await codeOf(lost)], [503, 'ERR_MESSAGE_RETRY']);
      const repeated = await post(key, to);
      assert.deepEqual([repeated.status, await codeOf(repeated)], [409, 'ERR_MESSAGE_IN_DOUBT']);
    };
    faults.inject({ kind: 'reset', times: 1 });
    await assertInDoubt('order-7', { id: 1 });
    const subscription = await stage.userAgent.subscribe((await stage.store.vapidKeys.current())!);
    faults.inject({ kind: 'reset', times: 1 });
    await assertInDoubt('order-9', { subscription });
    // one device got no answer (INTERNAL_ERROR), the other one was refused for now
    faults.inject({ kind: 'reset-stream', code: 2, times: 1 });
    faults.inject({ kind: 'status', status: 503, times: 1 });
    await assertInDoubt('order-8', { user: 'me' });
    // one device got the message, the other one's failed for a reason that nobody expected
    const { send } = stage.sender;
    t.mock.method(stage.sender, 'send', async (...given: Parameters<typeof send>) => {
      if ('id' in given[0] && given[0].id === 2) throw new TypeError('not a key');
      return send(...given);
    });
    const accepted = () => stage.pushService.statistics().answers[201] ?? 0;
    const before = accepted();
    const { status } = await post('order-11', { user: 'me' });
    assert.deepEqual([status, accepted() - before], [500, 1]);
    assert.equal(await codeOf(await post('order-11', { user: 'me' })), 'ERR_MESSAGE_IN_DOUBT');
    assert.equal(accepted() - before, 1, 'not twice');
    t.mock.restoreAll();
    // a push service that cannot be reached was not asked
    await stage.pushService.close();
    for (let tries = 0; tries < 2; tries += 1) {
      const unreached = await post('order-10', { id: 1 });
      assert.deepEqual([unreached.status, await codeOf(unreached)], [503, 'ERR_MESSAGE_RETRY']);
    }
  });

  test('plain text is a message to a person, and its title is the installation’s unless it is given', async (t) => {
    const stage = await startStage(t, [{ user: 'me' }]);
    const post = (path: string, body: string, type = 'text/plain') =>
      stage.ask(path, { method: 'POST', body, headers: { 'content-type': type } });
    const shown = async () => JSON.parse((await stage.userAgent.nextMessage()).text()) as unknown;
    const sent = await post('/v1/messages?user=me', 'Backups\nare done\n');
    assert.equal(sent.status, 200);
    assert.deepEqual(await shown(), { title: hostname(), message: 'Backups\nare done' });
    const send = t.mock.method(stage.sender, 'send');
    await post(
      '/v1/messages?user=me&title=NAS&urgency=high&ttlSeconds=60&topic=backup',
      'Größer',
      'text/plain; charset=utf-8',
    );
    const options = { urgency: 'high', ttlSeconds: 60, topic: 'backup' };
    assert.deepEqual(send.mock.calls.at(-1)?.arguments[2], options);
    assert.deepEqual(await shown(), { title: 'NAS', message: 'Größer' });
    assert.deepEqual((await auditOf(stage))[0], ['tester', 'message.send', 'user #2', 200]);

    for (const [path, body, status, code, detail] of [
      ['/v1/messages', 'x', 400, 'ERR_REQUEST_INVALID', /^user is missing; /],
      ['/v1/messages?user=', 'x', 400, 'ERR_REQUEST_INVALID', /^user is empty; /],
      [
        '/v1/messages?user=me&ttlSeconds=soon',
        'x',
        400,
        'ERR_REQUEST_INVALID',
        /^ttlSeconds is not usable; /,
      ],
      ['/v1/messages?user=me', '', 400, 'ERR_REQUEST_INVALID', /^The body is empty; give a string/],
      ['/v1/messages?user=nobody', 'x', 404, 'ERR_SUBSCRIPTION_NOT_FOUND', /./],
      ['/v1/broadcasts', 'x', 415, 'ERR_CONTENT_TYPE', /content-type: application\/json\.$/],
    ] as const) {
      const response = await post(path, body);
      const problem = (await response.json()) as { readonly code: string; readonly detail: string };
      assert.deepEqual([response.status, problem.code], [status, code], path);
      assert.match(problem.detail, detail);
    }
    const html = (await (await post('/v1/messages?user=me', 'x', 'text/html')).json()) as Problem;
    assert.equal(html.detail, 'The body must have content-type: application/json or text/plain.');
    const body = JSON.stringify({ to: { id: 1 }, message });
    const both = await post('/v1/messages?user=me', body, 'application/json');
    assert.deepEqual([both.status, await codeOf(both)], [400, 'ERR_REQUEST_INVALID']);

    // with a TTL of 0 nothing is kept for who is away
    await stage.userAgent.close();
    const events = () => stage.pushService.statistics().events;
    await until(() => events().disconnected === 1, 'the user agent to be away');
    assert.equal((await post('/v1/messages?user=me&ttlSeconds=0', 'x')).status, 200);
    assert.equal(events().dropped, 1);
  });

  test('a subscription that need not be stored is sent to', async (t) => {
    const stage = await startStage(t, []);
    const subscription = await stage.userAgent.subscribe((await stage.store.vapidKeys.current())!);
    const options = { urgency: 'low', ttlSeconds: 600, topic: 'tea' };
    const send = t.mock.method(stage.sender, 'send');
    const body = { to: { subscription }, message, ...options };
    const { items } = await stage.read<Page>('/v1/messages', { method: 'POST', body });
    assert.deepEqual(send.mock.calls[0]?.arguments[2], options);
    assert.deepEqual(items, [{ pushService: stage.pushService.origin, outcome: 'accepted', status: 201 }]);
    assert.deepEqual(await auditOf(stage), [['tester', 'message.send', 'subscription', 200]], 'no endpoint');
    await stage.sender.createBroadcast({ subscriptions: [subscription] }, message);
    const { audience, recipients, createdBy } = await stage.read<Shown>('/v1/broadcasts/1');
    assert.deepEqual([audience, recipients], [{ list: 'subscriptions' }, 1]);
    assert.deepEqual(createdBy, { application: hostname() });
  });

  test('what is not valid is named, nothing is sent, and the audit has the refusal', async (t) => {
    const stage = await startStage(t);
    const post = (body: unknown) => stage.ask('/v1/messages', { method: 'POST', body });
    for (const [body, status, code] of [
      [{ to: {}, message }, 400, 'ERR_REQUEST_INVALID'],
      [{ to: { id: 1, user: 'ada' }, message }, 400, 'ERR_REQUEST_INVALID'],
      [{ to: { id: 99 }, message }, 404, 'ERR_SUBSCRIPTION_NOT_FOUND'],
      [{ to: { user: 'nobody' }, message }, 404, 'ERR_SUBSCRIPTION_NOT_FOUND'],
      [{ to: { subscription: { endpoint: 'x' } }, message }, 400, 'ERR_REQUEST_INVALID'],
      [{ to: { id: 1 }, message: { ...message, icon: 'ftp://x' } }, 400, 'ERR_REQUEST_INVALID'],
      [{ to: { id: 1 }, message: { ...message, data: 'x'.repeat(5000) } }, 400, 'ERR_PAYLOAD_TOO_LARGE'],
      [{ to: { id: 1 }, message, ttl: 1 }, 400, 'ERR_REQUEST_INVALID'],
      [{ to: { id: '1' }, message }, 400, 'ERR_REQUEST_INVALID'],
      ['{', 400, 'ERR_JSON_MALFORMED'],
      [JSON.stringify({ to: { id: 1 }, message, pad: 'x'.repeat(1024 * 1024) }), 413, 'ERR_BODY_TOO_LARGE'],
    ] as const) {
      const response = await post(body);
      assert.deepEqual([response.status, await codeOf(response)], [status, code]);
      assert.equal(response.headers.get('content-type'), 'application/problem+json');
    }
    const statuses = (await auditOf(stage)).map(([, , , status]) => status);
    // What never became a request for a change leaves no record.
    assert.deepEqual(statuses, [400, 404, 404]);

    await addSubscriptions(stage.store, 101, 0, () => ({ assign: { user: 'ada', tags: [] } }));
    const send = t.mock.method(stage.sender, 'send', async () => {
      throw new Error('It is sent.');
    });
    const tooMany = await post({ to: { user: 'ada' }, message });
    assert.match(await tooMany.text(), /more than 100 subscriptions; make a broadcast/);
    assert.equal(send.mock.callCount(), 0);
    await stage.store.subscriptions.removeById(2);
    await post({ to: { user: 'ada' }, message });
    assert.equal(send.mock.callCount(), 100);
  });
});

/** Each one but `receipts`. */
const deliveryOptionsToAsk = {
  ttlSeconds: 7200,
  urgency: 'high',
  topic: 'tea',
  priority: 'high',
  perPerson: '3/day',
  skipInactive: 10,
  channel: 'news',
  localTime: '2099-01-02T09:00',
  ifTimePassed: 'skip',
  quietHours: '22:00-07:00',
  timeZone: 'Europe/Berlin',
};

suite('/v1/broadcasts', () => {
  test('one has each option of delivery as it was asked for', async (t) => {
    const { ask, store } = await startStage(t);
    await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
    assert.deepEqual(
      Object.keys(deliveryOptionsToAsk),
      Object.keys(deliveryOptions).filter((name) => name !== 'receipts'),
    );
    const body = { audience: 'all', message, startAt: '2099-01-01T09:00:00Z', ...deliveryOptionsToAsk };
    const response = await ask('/v1/broadcasts', { method: 'POST', body });
    const shown = (await response.json()) as object;
    assert.deepEqual({ ...shown, ...deliveryOptionsToAsk }, shown);
  });

  test('a message whose title and text are blank is refused, in each language, also where it recurs or is to one', async (t) => {
    const { ask } = await startStage(t, [{}]);
    const german = { ...message, texts: { de: { title: ' ', message: '\n' } } };
    for (const [blank, names] of [
      [{ title: '', message: ' ' }, ['title', 'message']],
      [german, ['texts.de.title', 'texts.de.message']],
    ] as const) {
      const bodies = {
        '/v1/broadcasts': { audience: 'all' },
        '/v1/schedules': { audience: 'all', cron: '0 9 * * 1' },
        '/v1/messages': { to: { id: 1 } },
      };
      for (const [path, body] of Object.entries(bodies)) {
        const response = await ask(path, { method: 'POST', body: { ...body, message: blank } });
        assert.equal(response.status, 400, path);
        const { detail, errors } = (await response.json()) as {
          detail: string;
          errors: { pointer: string }[];
        };
        assert.equal(
          detail,
          `The members ${names.join(' and ')} of the message are both blank; give at least one of them a text.`,
        );
        assert.deepEqual(
          pluck(errors, 'pointer'),
          names.map((name) => `/message/${name.replaceAll('.', '/')}`),
        );
      }
    }
  });

  test('one is made once for its key, listed, found, paused, resumed and cancelled', async (t) => {
    const stage = await startStage(t, [{}, {}]);
    const { ask, read } = stage;
    const body = { audience: 'all', message, startAt: '2099-01-01T09:00:00Z', urgency: 'low' };
    const post = (headers: Record<string, string>, changed = {}) =>
      ask('/v1/broadcasts', { method: 'POST', body: { ...body, ...changed }, headers });
    const created = await post({ 'idempotency-key': 'tea-1' });
    assert.equal(created.status, 201);
    const first = (await created.json()) as Shown;
    assert.deepEqual([first.state, first.audience, first.recipients], ['scheduled', 'all', 2]);
    assert.deepEqual([first.title, first.createdBy], [message.title, { operator: 'tester' }]);
    assert.equal(created.headers.get('location'), `/v1/broadcasts/${first.id}`);
    const again = await post({ 'idempotency-key': 'tea-1' });
    assert.deepEqual([again.status, ((await again.json()) as Shown).id], [200, first.id]);
    const other = await post({ 'idempotency-key': 'tea-1' }, { urgency: 'high' });
    assert.deepEqual([other.status, await codeOf(other)], [422, 'ERR_IDEMPOTENCY_KEY']);
    const second = (await (await post({}, { audience: { ids: [2] } })).json()) as Shown;
    assert.deepEqual(second.audience, { list: 'ids' });

    const tagged = await post({}, { audience: { user: 'nobody', tags: { any: ['news'] } } });
    const shownTagged = (await tagged.json()) as Shown;
    assert.deepEqual([tagged.status, shownTagged.recipients], [201, 0]);
    assert.deepEqual(shownTagged.audience, { user: 'nobody', tags: { any: ['news'] } });
    const tooLate = await post({}, { startAt: '2020-01-01T09:00:00Z' });
    assert.deepEqual([tooLate.status, await codeOf(tooLate)], [400, 'ERR_MESSAGE_INVALID']);
    const nobody = await post({}, { audience: { tags: {} } });
    assert.deepEqual([nobody.status, await codeOf(nobody)], [400, 'ERR_REQUEST_INVALID']);
    const third = await read<Page<Shown>>('/v1/broadcasts?limit=1');
    assert.equal(third.items[0]?.recipients, 0);

    const page = await read<Page<Shown>>('/v1/broadcasts?limit=1&cursor=3');
    assert.deepEqual([page.items.map(({ id }) => id), page.next], [[second.id], second.id]);
    const rest = await read<Page<Shown>>(`/v1/broadcasts?limit=1&cursor=${page.next}`);
    assert.deepEqual([rest.items.map(({ id }) => id), rest.next], [[first.id], null]);
    assert.equal((await read<Page>('/v1/broadcasts?text=TEA&state=scheduled')).items.length, 2);
    assert.equal((await read<Page>('/v1/broadcasts?text=ding%20D')).items.length, 3, 'in the title');
    assert.equal((await read<Page>('/v1/broadcasts?text=coffee')).items.length, 0);
    const startAt = encodeURIComponent(body.startAt);
    assert.equal((await read<Page>(`/v1/broadcasts?since=${startAt}`)).items.length, 3);
    assert.equal((await read<Page>('/v1/broadcasts?since=2100-01-01T00:00:00Z')).items.length, 0);
    assert.equal((await read<Page>(`/v1/broadcasts?until=${startAt}`)).items.length, 0);
    assert.equal((await read<Page>('/v1/broadcasts?until=2100-01-01T00:00:00Z')).items.length, 3);

    const change = async (name: string) => {
      const response = await ask(`/v1/broadcasts/${first.id}/${name}`, { method: 'POST' });
      return response.ok ? ((await response.json()) as Shown).state : codeOf(response);
    };
    assert.equal(await change('pause'), 'paused');
    assert.equal(await change('resume'), 'scheduled');
    assert.equal(await change('cancel'), 'cancelled');
    assert.equal(await change('pause'), 'ERR_BROADCAST_STATE');
    assert.equal((await read<Shown>(`/v1/broadcasts/${first.id}`)).state, 'cancelled');
    assert.equal(await codeOf(await ask('/v1/broadcasts/99')), 'ERR_BROADCAST_NOT_FOUND');
    assert.equal(await codeOf(await ask('/v1/broadcasts/99/attempts')), 'ERR_BROADCAST_NOT_FOUND');
    assert.deepEqual((await auditOf(stage)).slice(0, 5), [
      ['tester', 'broadcast.pause', 'broadcast 1', 409],
      ['tester', 'broadcast.cancel', 'broadcast 1', 200],
      ['tester', 'broadcast.resume', 'broadcast 1', 200],
      ['tester', 'broadcast.pause', 'broadcast 1', 200],
      ['tester', 'broadcast.create', undefined, 400],
    ]);
    for (const [query, count] of [
      ['operator=tester&action=broadcast.pause', 2],
      ['operator=nobody', 0],
      ['action=broadcast.remove', 0],
      ['since=2099-01-01T00:00:00Z', 0],
      ['until=2020-01-01T00:00:00Z', 0],
      ['action=broadcast.cancel&since=2020-01-01T00:00:00Z&until=2099-01-01T00:00:00Z', 1],
    ] as const)
      assert.equal((await read<Page>(`/v1/audit?${query}`)).items.length, count, query);
    for (const name of ['operator', 'action']) {
      const problem = await (await ask(`/v1/audit?${name}=a%00b`)).text();
      assert.match(
        problem,
        new RegExp(`ERR_REQUEST_INVALID.*/${name}.*give text without control characters`, 's'),
      );
    }
    const [newest, before] = (await read<Page<{ id: number }>>('/v1/audit')).items;
    const records = await read<Page<{ id: number; at: string }>>('/v1/audit?limit=1');
    const [stored] = await stage.store.audit.list({ limit: 1 });
    assert.equal(records.items[0]!.at, new Date(stored!.atMs).toISOString());
    assert.deepEqual([records.items[0], records.next], [newest, newest!.id]);
    assert.deepEqual((await read<Page>(`/v1/audit?limit=1&cursor=${records.next}`)).items, [before]);
  });

  test('its attempts come in pages and by outcome', async (t) => {
    const { sender, read } = await startStage(t, [{}, {}, {}]);
    const run = await sender.broadcast('all', message);
    await run.finished;
    const first = await read<Page<{ id: number; subscriptionId: number }>>(
      '/v1/broadcasts/1/attempts?limit=2',
    );
    assert.equal(first.items.length, 2);
    const rest = await read<Page<{ id: number }>>(`/v1/broadcasts/1/attempts?limit=2&cursor=${first.next}`);
    assert.deepEqual([rest.items.length, rest.next], [1, null]);
    assert.equal((await read<Page>('/v1/broadcasts/1/attempts?outcome=accepted')).items.length, 3);
    assert.equal((await read<Page>('/v1/broadcasts/1/attempts?outcome=gone')).items.length, 0);
    assert.equal((await read<Page>('/v1/broadcasts/1/attempts?subscription=2')).items.length, 1);
    await (
      await sender.broadcast({ ids: [2] }, message)
    ).finished;
    const ofSubscription = async (query: string) => {
      const { items, next } = await read<Page<{ broadcastId: number }>>(
        `/v1/subscriptions/2/attempts${query}`,
      );
      return { broadcasts: items.map(({ broadcastId }) => broadcastId), next };
    };
    assert.deepEqual((await ofSubscription('')).broadcasts, [2, 1]);
    const { broadcasts, next } = await ofSubscription('?limit=1');
    assert.deepEqual(broadcasts, [2]);
    assert.deepEqual(await ofSubscription(`?limit=1&cursor=${next}`), { broadcasts: [1], next: null });
  });

  test('times and filters that are not valid are named', async (t) => {
    const { ask, sender } = await startStage(t, []);
    await sender.createBroadcast('all', message);
    const states = ['preparing', 'scheduled', 'running', 'paused', 'cancelled', 'done'];
    for (const query of [
      ...states.map((state) => `?state=${state}`),
      ...attemptOutcomes.map((outcome) => `/1/attempts?outcome=${outcome}`),
    ])
      assert.equal((await ask(`/v1/broadcasts${query}`)).status, 200, query);
    for (const query of [
      'since=yesterday',
      'since=2027-01-01T09:00:00',
      'state=lost',
      'limit=501',
      'cursor=x',
      'page=2',
    ]) {
      assert.equal((await ask(`/v1/broadcasts?${query}`)).status, 400, query);
    }
  });
});

test('a schedule is made, listed and removed; what needs a setting that is missing is a 409', async (t) => {
  const stage = await startStage(t, [{}]);
  const { ask, read } = stage;
  const body = {
    cron: '0 9 * * 1',
    timezone: 'Europe/Berlin',
    audience: { tags: { any: ['news'] } },
    message,
  };
  const post = (changed: object) => ask('/v1/schedules', { method: 'POST', body: { ...body, ...changed } });
  const made = await post({});
  assert.equal(made.status, 201, await made.clone().text());
  const shownFirst = (await made.json()) as object;
  assert.deepEqual({ ...shownFirst, ...body }, shownFirst, 'as it was asked for');
  await stage.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  const options = { ...deliveryOptionsToAsk, localTime: '09:00' };
  assert.deepEqual((await post(options)).status, 201);
  const often = await post({ perPerson: 'often' });
  assert.deepEqual([often.status, await codeOf(often)], [400, 'ERR_REQUEST_INVALID']);
  const bad = await post({ cron: 'at tea time' });
  assert.deepEqual([bad.status, await codeOf(bad)], [400, 'ERR_REQUEST_INVALID']);
  const never = await post({ cron: '0 0 31 2 *' });
  assert.deepEqual([never.status, await codeOf(never)], [400, 'ERR_SCHEDULE_INVALID']);
  const withReceipts = await post({ receipts: true });
  assert.deepEqual([withReceipts.status, await codeOf(withReceipts)], [409, 'ERR_CONFIGURATION']);
  const page = await read<Page<{ id: number; cron: string }>>('/v1/schedules?limit=1');
  assert.deepEqual([page.items.map(({ id, cron }) => [id, cron]), page.next], [[[1, '0 9 * * 1']], 1]);
  const rest = await read<Page<object>>('/v1/schedules?cursor=1');
  assert.deepEqual(
    rest.items.map((schedule) => ({ ...schedule, ...options })),
    rest.items,
  );
  assert.equal(rest.items.length, 1);
  const { nextTimes } = await read<{ nextTimes: string[] }>('/v1/schedules/1');
  assert.equal(new Set(nextTimes.map((time) => new Date(time).getUTCDay())).size, 1, 'Mondays');
  assert.equal(new Set(nextTimes).size, 3);
  const { nextAtMs: fromMs } = await stage.store.schedules.get(1);
  await stage.store.schedules.advance(1, { fromMs, toMs: fromMs, broadcastId: 7 });
  const { lastBroadcast } = await read<{ lastBroadcast: number }>('/v1/schedules/1');
  assert.deepEqual([lastBroadcast, (shownFirst as { lastBroadcast?: number }).lastBroadcast], [7, undefined]);
  const { changes } = await read<{ changes: { operator: string; action: string }[] }>('/v1/schedules/1');
  assert.deepEqual(pluck(changes, 'operator', 'action'), [['tester', 'schedule.create']]);
  assert.deepEqual((await read<Page<object>>('/v1/audit?target=schedule%201')).items, changes);
  const remove = async () => (await ask('/v1/schedules/1', { method: 'DELETE' })).status;
  assert.deepEqual([await remove(), await remove()], [204, 404]);
  assert.deepEqual((await auditOf(stage)).slice(-1), [['tester', 'schedule.create', 'schedule 1', 201]]);
});

suite('/v1/subscriptions', () => {
  test('they are listed by person, tags and push service, in pages, and show no endpoint and no key', async (t) => {
    const { read, pushService } = await startStage(t, [
      { user: 'ada', tags: ['news', 'de'] },
      { user: 'bob', tags: ['news'] },
      {},
      { user: 'ada' },
    ]);
    const ids = async (query: string) =>
      (await read<Page<{ id: number }>>(`/v1/subscriptions?${query}`)).items.map(({ id }) => id);
    const page = await read<Page<{ id: number }>>('/v1/subscriptions?limit=3');
    assert.deepEqual([page.items.length, page.next], [3, 3]);
    assert.deepEqual(await ids(`limit=3&cursor=${page.next}`), [4]);
    assert.deepEqual(await ids('user=ada'), [1, 4]);
    assert.deepEqual(await ids('tag=news,de'), [1]);
    assert.deepEqual(await ids('anyTag=de,news&notTag=de'), [2]);
    assert.deepEqual([await ids('anyTag=de'), await ids('notTag=de')], [[1], [2, 3, 4]]);
    assert.deepEqual(await ids('user=ada&tag=news'), [1]);
    const ofPushService = `pushService=${encodeURIComponent(pushService.origin)}&limit=2`;
    assert.deepEqual(await ids(ofPushService), [1, 2]);
    assert.deepEqual(await ids(`${ofPushService}&cursor=2`), [3, 4]);
    assert.deepEqual(await ids('pushService=https%3A%2F%2Ffcm.googleapis.com'), []);
    const text = JSON.stringify(await read('/v1/subscriptions'));
    assert(!/endpoint|p256dh|auth/.test(text) && !text.includes(`${pushService.origin}/`), text);
  });

  test('a list has 50 items by default and 500 at most, and tells where it ends', async (t) => {
    const { read, ask } = await startStage(
      t,
      Array.from({ length: 51 }, () => ({})),
    );
    const sizeOf = async (query: string) => {
      const { items, next } = await read<Page>(`/v1/subscriptions?${query}`);
      return [items.length, next];
    };
    assert.deepEqual(await sizeOf(''), [50, 50]);
    assert.deepEqual(await sizeOf('cursor=50'), [1, null]);
    assert.deepEqual(await sizeOf('limit=500'), [51, null]);
    assert.deepEqual(await sizeOf('limit=51'), [51, null]);
    assert.equal((await ask('/v1/subscriptions?limit=501')).status, 400);
  });

  test('user and tags are assigned, one without the other too', async (t) => {
    const stage = await startStage(t, [{ user: 'ada', tags: ['news'] }]);
    const patch = (body: unknown, id = 1) => stage.ask(`/v1/subscriptions/${id}`, { method: 'PATCH', body });
    assert.deepEqual(await assignedIn(await patch({ tags: ['b', 'a'] })), [200, 'ada', ['a', 'b']]);
    assert.deepEqual(await assignedIn(await patch({ user: 'bob' })), [200, 'bob', ['a', 'b']]);
    assert.deepEqual(await assignedIn(await patch({ user: null, tags: [] })), [200, undefined, []]);
    for (const [body, id, status] of [
      [{}, 1, 400],
      [{ tags: ['no comma, please'] }, 1, 400],
      [{ user: '' }, 1, 400],
      [{ user: 'ada' }, 9, 404],
    ] as const) {
      assert.equal((await patch(body, id)).status, status, JSON.stringify(body));
    }
  });

  test('one is removed; a person is removed with every trace, and the audit keeps a hash only', async (t) => {
    const stage = await startStage(t, [{ user: 'ada' }, {}, { user: 'ada' }]);
    const remove = (path: string) => stage.ask(`/v1/subscriptions${path}`, { method: 'DELETE' });
    assert.equal((await remove('/2')).status, 204);
    assert.equal((await remove('/2')).status, 404);
    assert.equal((await remove('')).status, 400);
    const greeting = { title: 'Hello', message: 'World' };
    const later = { startAt: new Date(Date.now() + 3_600_000) };
    const monthly = { cron: '0 9 1 * *', timezone: 'UTC' };
    const tags = { none: ['muted'] };
    for (const audience of [{ user: 'ada' }, { user: 'ada', tags }, { user: 'bob' }, { tags }]) {
      await stage.sender.createBroadcast(audience, greeting, later);
      await stage.sender.createSchedule(audience, greeting, monthly);
    }
    const removed = await remove('?user=ada');
    const { removalReceipt, ...counts } = (await removed.json()) as Record<string, unknown>;
    assert.match(String(removalReceipt), /^[\w-]{22}$/);
    const expected = { ...nothingRemoved, subscriptions: 2, broadcasts: 2, schedules: 2, recipients: 6 };
    assert.deepEqual([removed.status, counts], [200, expected]);
    assert.equal(await stage.store.subscriptions.count(), 0);
    const left = (await stage.store.schedules.list()).map(({ audience }) => audience);
    assert.deepEqual(left, [{ user: 'bob' }, { tags }]);
    const records = await auditOf(stage);
    assert.deepEqual(records[1], ['tester', 'person.remove', 'user #3', 200]);
    assert.ok(!JSON.stringify(records).includes(String(removalReceipt)), 'the salt is in the receipt alone');
    assert(!JSON.stringify(records).includes('ada'));
  });
});

test('held deletions are listed, and confirmed or discarded by their origin', async (t) => {
  const { ask, read, store } = await startStage(t, []);
  assert.deepEqual(await read('/v1/held-deletions'), { items: [], next: null });
  const fcm = 'https://fcm.googleapis.com';
  for (let index = 0; index < 30; index += 1) {
    const row = await store.subscriptions.put(madeUpSubscription(index), vapidPublicKey);
    await recordAnswer(store, row, 'gone', fcm);
  }
  const stored = await store.subscriptions.count();
  const held = (await store.heldDeletions.list())[0]!.subscriptions;
  for (const [name, removed] of [
    ['discard', 0],
    ['confirm', held],
  ] as const) {
    const rows = await store.subscriptions.page({ afterId: 0, limit: held });
    if (name === 'confirm') for (const row of rows) await recordAnswer(store, row, 'gone', fcm);
    // though no broadcast has met them
    const [alarm] = (await read<Page>('/v1/alarms')).items;
    assert.deepEqual([alarm!['id'], alarm!['count']], ['deletions-held:fcm.googleapis.com', held]);
    const path = `/v1/held-deletions/${encodeURIComponent(fcm)}/${name}`;
    assert.deepEqual(await read(path, { method: 'POST' }), { origin: fcm, subscriptions: held });
    assert.equal(await store.subscriptions.count(), stored - removed, name);
  }
  const origin = encodeURIComponent(`https://${'a'.repeat(63)}.${'b'.repeat(63)}.push.example`);
  for (const name of ['confirm', 'discard']) {
    const response = await ask(`/v1/held-deletions/${origin}/${name}`, { method: 'POST' });
    assert.deepEqual([response.status, await codeOf(response)], [404, 'ERR_SUBSCRIPTION_NOT_FOUND']);
  }
});

test('alarms are listed as long as they stand, and acknowledged with a note', async (t) => {
  const stage = await startStage(t, [], { now: stoppedClock() });
  const { read, store, ask } = stage;
  assert.deepEqual(await read('/v1/alarms'), { items: [], next: null });
  const breakerReason = 'It is down.';
  const failing = { ...idlePushService, breaker: 'open', breakerReason, unreachableMs: 65_000 } as const;
  await store.senders.put({ ...workerReport, pushServices: [failing] });
  const { items } = await read<{ items: Record<string, unknown>[] }>('/v1/alarms');
  const { id, kind, link, pushService, detail, what, remedy } = items[0]!;
  assert.deepEqual(
    [id, kind, link, pushService, detail],
    [
      'unreachable:push.example.net',
      'unreachable',
      '/console/push-services',
      'push.example.net',
      breakerReason,
    ],
  );
  assert.equal(what, 'push.example.net cannot be reached');
  assert.match(String(remedy), /firewall and proxy of push-1\.$/);
  const path = `/v1/alarms/${encodeURIComponent(String(id))}/acknowledge`;
  const acknowledge = (body: unknown, to = path) => ask(to, { method: 'POST', body });
  assert.equal((await acknowledge({ note: 'The firewall is being changed.' })).status, 200);
  for (const body of [{ note: '' }, { note: 'x'.repeat(501) }, {}, { note: 'x', by: 'ann' }])
    assert.equal((await acknowledge(body)).status, 400);
  const gone = await acknowledge({ note: 'x' }, '/v1/alarms/no-worker/acknowledge');
  assert.deepEqual([gone.status, await codeOf(gone)], [404, 'ERR_ALARM_NOT_FOUND']);
  assert.deepEqual((await auditOf(stage)).at(-1), ['tester', 'alarm.acknowledge', `alarm ${id}`, 200]);
  await store.senders.put({ ...workerReport, pushServices: [idlePushService] });
  assert.deepEqual(await read('/v1/alarms'), { items: [], next: null });
});

test('words of strangers are answered as JSON that no terminal obeys', async (t) => {
  const hostile = '<script>alert(1)</script>\u001b[2J\u009b31m\u202e';
  const { ask } = await startStage(t, []);
  const body = { audience: 'all', message: { title: hostile, message: hostile } };
  const headers = { 'idempotency-key': '<b>\u009b31m' };
  const made = await ask('/v1/broadcasts', { method: 'POST', body, headers });
  const text = await made.text();
  assert.equal(made.status, 201, text);
  assert.match(made.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(made.headers.get('x-content-type-options'), 'nosniff');
  const problem = await (await ask(`/v1/broadcasts?text=%C2%9B31m&state=%3Cb%3E%C2%9B`)).text();
  for (const answer of [text, problem]) assert.match(answer, /^[\x20-\x7e]*$/);
});
