// The webhook: what is posted, its signature, tries, and which addresses it is posted to.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { formatWebhookSecret, parseWebhookUrl } from '../../src/operator/webhook/webhook-target.ts';
import { delaysMs, startWebhook, webhookBody } from '../../src/operator/webhook/post-events.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpBroadcast } from '../store/store-under-test.ts';
import { openTestStore } from '../store/test-database.ts';
import { silentLog, startOperator, startStage } from './running-operator.ts';
import { until } from '../../tools/until.ts';

interface Posted {
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  readonly body: string;
  readonly event: {
    readonly type: string;
    readonly timestamp: string;
    readonly data: Record<string, unknown>;
  };
}

const untilTaken = ({ webhooks }: Store) =>
  until(async () => (await webhooks.backlog()).waiting === 0, 'the events to be taken');

/** A receiver that answers with the next of these statuses, and 204 after them. */
async function startReceiver(
  t: TestContext,
  statuses: readonly number[] = [],
  fields: OutgoingHttpHeaders = {},
) {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      posted.push({
        headers: request.headers,
        url: request.url!,
        body,
        event: JSON.parse(body) as Posted['event'],
      });
      response
        .writeHead(statuses[posted.length - 1] ?? 204, { location: 'http://127.0.0.1:1/', ...fields })
        .end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const received = async (count: number): Promise<readonly Posted[]> => {
    await until(() => posted.length >= count, `post ${count}`);
    return posted;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?from=deskbell`,
    posted,
    received,
  };
}

const message = { title: 'Ding dong', message: 'Tea is ready' };
const secret = randomBytes(32);

/** A store with an event, a clock and a receiver. `post`: has a webhook post what is due, until a try is recorded. */
async function startPosting(t: TestContext, ...answers: [readonly number[], OutgoingHttpHeaders?]) {
  const clock = { nowMs: Date.now() };
  const { store, remove } = await openTestStore(() => clock.nowMs);
  t.after(remove);
  const receiver = await startReceiver(t, ...answers);
  await store.webhooks.watch();
  await store.broadcasts.create(madeUpBroadcast(clock.nowMs));
  const target = parseWebhookUrl(receiver.url);
  const post = async () => {
    const { promise: record, resolve: error } = Promise.withResolvers<object>();
    const hook = startWebhook({ store, target, secret, log: { ...silentLog, error }, everyMs: 5 });
    await record;
    await hook.close();
    return record;
  };
  const lease = () => store.webhooks.lease({ limit: 1, leaseMs: 0 });
  return { clock, store, receiver, post, lease };
}

test('an alarm, a subscription that is gone and a broadcast that is done are posted, signed', async (t) => {
  const stage = await startStage(t, [{ user: 'ada' }, {}]);
  const receiver = await startReceiver(t, [200, 204, 299]);
  await stage.store.webhooks.watch();
  const hook = startWebhook({
    store: stage.store,
    target: parseWebhookUrl(receiver.url),
    secret,
    log: silentLog,
    everyMs: 5,
  });
  t.after(() => hook.close());
  const [first] = await stage.store.subscriptions.page({ afterId: 0, limit: 1 });
  stage.pushService.faults.inject({ kind: 'status', status: 410, endpoint: first!.endpoint });
  stage.pushService.faults.inject({ kind: 'status', status: 413, body: '<b>\u001b[31m', times: 1 });
  await (
    await stage.sender.broadcast('all', message, { idempotencyKey: 'tea \u009b31m' })
  ).finished;
  const posted = await receiver.received(3);
  const byType = new Map(posted.map((one) => [one.event.type, one]));
  assert.deepEqual([...byType.keys()].toSorted(), ['alarm', 'broadcast.done', 'subscription.gone']);
  const deleted = { type: 'broadcast.done', id: 'a', atMs: 0, attempts: 0, broadcastId: 99 } as const;
  const { data } = JSON.parse(await webhookBody(deleted, stage.store.broadcasts)) as Posted['event'];
  assert.deepEqual(data, { id: 99 });
  const alarm = byType.get('alarm')!;
  assert.deepEqual(alarm.event.data, {
    broadcastId: 1,
    origin: stage.pushService.origin,
    reason: 'payload-too-large',
    detail: '<b> [31m',
    rows: 1,
  });
  for (const { headers, url, body } of posted) {
    assert.match(body, /^[\x20-\x7e]*$/);
    assert.equal(url, '/hook?from=deskbell');
    assert.equal(headers['content-type'], 'application/json');
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
    // As receivers' libraries do it.
    const key = Buffer.from(formatWebhookSecret(secret).slice('whsec_'.length), 'base64');
    const signature = createHmac('sha256', key).update(signed).digest('base64');
    assert.equal(headers['webhook-signature'], `v1,${signature}`);
    assert(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000) < 300);
    assert(!body.includes('endpoint') && !body.includes(first!.endpoint));
  }
  await untilTaken(stage.store);
  assert.equal(posted.length, 3, 'each once');
});

for (const [retryAfterSeconds, postedAfterMs] of [
  [3600, 3_600_000],
  [1, delaysMs[0]],
] as const) {
  test(`what is not taken with a Retry-After of ${retryAfterSeconds} s is due after ${postedAfterMs} ms`, async (t) => {
    const { clock, receiver, post, lease } = await startPosting(t, [503], {
      'retry-after': String(retryAfterSeconds),
    });
    await post();
    assert.equal(receiver.posted.length, 1);
    clock.nowMs += postedAfterMs - 1;
    assert.deepEqual(await lease(), []);
    clock.nowMs += 1;
    assert.equal((await lease()).length, 1);
  });
}

test('what is never taken is posted eight times under its id, later each time, and dropped then; redirects are not followed', async (t) => {
  const statuses = [500, 302, 300, 404, 500, 500, 500, 500, 500];
  const { clock, store, receiver, post, lease } = await startPosting(t, statuses);
  const [seconds, minutes, hours] = [1000, 60_000, 3_600_000];
  const delays = [5 * seconds, 5 * minutes, 30 * minutes, ...[2, 5, 10, 10].map((count) => count * hours)];
  for (const [index, delayMs] of [...delays, 0].entries()) {
    const attempts = index + 1;
    const event = attempts < statuses.length - 1 ? 'webhook not taken' : 'webhook dropped';
    const detail = `status ${statuses[index]}`;
    assert.deepEqual(await post(), { event, type: 'broadcast.done', attempts, detail });
    assert.equal(receiver.posted.length, attempts);
    const { headers } = receiver.posted.at(-1)!;
    assert.equal(headers['webhook-id'], receiver.posted[0]!.headers['webhook-id']);
    const timestamp = String(Math.floor(clock.nowMs / 1000));
    assert.equal(headers['webhook-timestamp'], timestamp, 'of this try, since receivers refuse old ones');
    clock.nowMs += delayMs - 1;
    assert.deepEqual(await lease(), []);
    clock.nowMs += 1;
  }
  assert.deepEqual(await store.webhooks.backlog(), { waiting: 0, oldestAtMs: undefined, dropped: 1 });
});

test('events are asked for every hour, since they are stored for days after that alone', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const asked: number[] = [];
  let rounds = 0;
  const webhooks = {
    watch: async () => void asked.push(nowMs),
    lease: async () => {
      rounds += 1;
      return [];
    },
  } as unknown as Store['webhooks'];
  const store = { webhooks, now: Date.now } as unknown as Store;
  const target = parseWebhookUrl('http://127.0.0.1:1/');
  const hook = startWebhook({ store, target, secret, log: silentLog, everyMs: 1 });
  const hourMs = 3_600_000;
  for (const atMs of [0, hourMs - 1, hourMs, 2 * hourMs]) {
    nowMs = atMs;
    const before = rounds;
    // a round may be under way
    await until(() => rounds >= before + 2, 'two rounds');
  }
  await hook.close();
  assert.deepEqual(asked, [0, hourMs, 2 * hourMs]);
});

test('a name that leads to an address that is not public is not posted to', async (t) => {
  const { store, sender } = await startOperator(t);
  const receiver = await startReceiver(t);
  await store.webhooks.watch();
  await sender.createBroadcast('all', message);
  const records: { readonly event?: string; readonly detail?: string }[] = [];
  const hook = startWebhook({
    store,
    target: parseWebhookUrl(`https://hooks.example.org:${new URL(receiver.url).port}/hook`),
    secret,
    log: { ...silentLog, error: (record) => records.push(record) },
    transport: { resolve: async () => [{ address: '127.0.0.1', family: 4 }] },
    everyMs: 5,
  });
  t.after(() => hook.close());
  await until(() => records.length > 0, 'the record');
  assert.match(records[0]!.detail!, /address/);
  assert.equal(records[0]!.event, 'webhook not taken', 'and tried again');
  assert.equal(receiver.posted.length, 0);
  assert.equal((await store.webhooks.backlog()).waiting, 1);
});

test('a URL that is not usable is refused', () => {
  for (const url of [
    'hooks.example.org',
    'ftp://hooks.example.org/',
    'http://hooks.example.org/',
    'https://a:b@hooks.example.org/',
  ]) {
    assert.throws(() => parseWebhookUrl(url), { code: 'ERR_CONFIGURATION' }, url);
  }
  assert.deepEqual(parseWebhookUrl('https://hooks.example.org/a?b=c').trustedOrigins, []);
  for (const origin of ['http://[::1]:3000', 'http://10.0.0.7', 'https://10.0.0.7', 'https://[fd00::7]'])
    assert.deepEqual(parseWebhookUrl(`${origin}/a`).trustedOrigins, [origin]);
  assert.deepEqual(parseWebhookUrl('http://localhost:3000/').trustedOrigins, ['http://localhost:3000']);
});
