// The live parts of pages: what one viewer may see and do never reaches another, and a page that was left holds no place.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { createProgressReader } from '../../src/delivery/broadcast/progress.ts';
import { broadcastEvents, readLastEventId, sendEvents } from '../../src/operator/broadcast-events.ts';
import { createLive } from '../../src/operator/console/live.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { pickDeliveryOptions } from '../../src/store/delivery-options.ts';
import { until } from '../../tools/until.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { addSubscriptions, commitNext, madeUpBroadcast, withResult } from '../store/store-under-test.ts';
import { decode, signIn, type Visitor, wordsOf } from './console-visitor.ts';
import { type RunningOperator, startOperator, startStage } from './running-operator.ts';
import { pluck } from '../../tools/pluck.ts';

interface Answer {
  readonly seen: string;
  readonly atMs: number;
  readonly status: readonly string[];
  readonly parts: Readonly<Record<string, string>>;
}

/** Follows a live page. `look`: its next answer; `changes`: what has changed by the time that it fits */
function watch({ base }: RunningOperator, path: string, { cookie }: Visitor) {
  let seen = '';
  const ask = () => fetch(base + path, { headers: { cookie, 'deskbell-seen': seen } });
  const look = async (): Promise<Answer> => {
    const response = await ask();
    assert.equal(response.status, 200, path);
    const answer = (await response.json()) as Answer;
    ({ seen } = answer);
    return answer;
  };
  const changes = async (fit: (parts: Answer['parts']) => boolean): Promise<Answer['parts']> => {
    let parts: Answer['parts'] = {};
    await until(
      async () => {
        parts = { ...parts, ...(await look()).parts };
        return fit(parts);
      },
      () => `other parts of ${path} than ${JSON.stringify(parts)}`,
    );
    return parts;
  };
  return { ask, look, changes };
}

const isAnswered = ({ 'live-answers': text = '' }: Answer['parts']): boolean => text.includes('>403<');

const fail = () => Promise.reject(new Error('no database'));

const tokensIn = (html: string): readonly string[] =>
  Array.from(html.matchAll(/name="csrf" value="([\w-]+)"/g), ([, token]) => token!);

// they mostly wait for the next second
suite('live pages', { concurrency: 4 }, () => {
  test('who looks at a live page first hands nothing of the own session to the others', async (t) => {
    const operator = await startOperator(t);
    await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const viewers = {
      ada: await signIn(operator, 'full', 'ada'),
      grace: await signIn(operator, 'full', 'grace'),
      eve: await signIn(operator, 'read', 'eve'),
    };
    const own = Object.fromEntries(
      Object.entries(viewers).map(([name, { page }]) => [name, tokensIn(page.html)[0]!]),
    );
    assert.equal(new Set(Object.values(own)).size, 3);
    const paths = operator.routes
      .filter(({ method, path }) => method === 'GET' && path.includes('/live/'))
      .map(({ path }) => path);
    assert(paths.length >= 3);
    for (const path of paths)
      for (const order of [
        ['eve', 'ada', 'grace'],
        ['grace', 'ada', 'eve'],
      ] as const) {
        const pages = order.map((name) => ({ name, page: watch(operator, path, viewers[name]) }));
        // the second time they get what was read for another
        for (const { name, page } of [...pages, ...pages]) {
          const text = Object.values((await page.look()).parts).join('');
          const tokens = tokensIn(text);
          assert(
            tokens.every((token) => token === own[name]),
            `${name} gets tokens of others at ${path}`,
          );
          if (name === 'eve') assert.doesNotMatch(text, /<form|<button/, path);
          else if (path.includes('/broadcasts/')) assert.equal(tokens.length, 1, `${name} has the button`);
        }
      }
  });

  test('all viewers of a page share one read a second, and get what has changed alone', async (t) => {
    const operator = await startOperator(t);
    const { store } = operator;
    const viewer = await signIn(operator);
    const pages = Array.from({ length: 20 }, () => watch(operator, '/console/live/overview', viewer));
    const lookAll = () => Promise.all(pages.map((page) => page.look()));
    const shared = ['live-tiles', 'live-running', 'live-services'];
    for (const { parts } of await lookAll()) assert.deepEqual(Object.keys(parts), [...shared, 'live-alarms']);
    await lookAll();
    const readMs = performance.now();
    await until(() => performance.now() >= readMs + 1000, 'the next second');
    await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const reads = t.mock.method(store.subscriptions, 'count');
    for (const { parts } of await lookAll())
      assert.deepEqual(Object.keys(parts), ['live-tiles', 'live-alarms']);
    assert.equal(reads.mock.callCount(), 1);
    await watch(operator, '/console/live/overview', viewer).look();
    assert.equal(reads.mock.callCount(), 2, 'what is read for a new page is never older than it');
  });

  test('viewers who wait for a read of more than a second share it', async (t) => {
    const app = Fastify();
    t.after(() => app.close());
    let reads = 0;
    createLive(app)('/live', async () => {
      reads += 1;
      await sleep(1100);
      return { shared: {} };
    });
    await Promise.all(Array.from({ length: 5 }, () => app.inject('/live')));
    assert(reads <= 2, `${reads} reads for the first viewer and the four who came during its read`);
  });

  test('the buttons of a live page follow the broadcast, for each who may press them', async (t) => {
    const operator = await startOperator(t);
    await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const { broadcast } = await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const [reader, page] = [await signIn(operator, 'read'), await signIn(operator, 'full')].map((viewer) =>
      watch(operator, `/console/live/broadcasts/${broadcast.id}`, viewer),
    );
    assert.match((await page!.look()).parts['live-controls']!, /\/pause/);
    assert.equal((await reader!.look()).parts['live-controls'], '');
    await operator.store.broadcasts.pause(broadcast.id);
    await page!.changes((parts) => /\/resume/.test(parts['live-controls']!));
    assert.equal((await reader!.look()).parts['live-controls'], '');
  });

  test('attempts, their reasons and what came of one are live on the page of a broadcast, as they are chosen there', async (t) => {
    const operator = await startOperator(t);
    await addSubscriptions(operator.store, 3);
    const { broadcast } = await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const viewer = await signIn(operator);
    const pages = [];
    for (const [query, place] of [
      ['', 'attempts'],
      ['?outcome=accepted', 'attempts'],
      ['?subscription=2', 'answer'],
    ] as const) {
      const { html } = await viewer.open(`/console/broadcasts/${broadcast.id}${query}`);
      for (const part of [place, 'answers']) assert.match(html, new RegExp(`id="live-${part}"`), query);
      const page = watch(operator, /data-live="([^"]+)"/.exec(html)![1]!, viewer);
      assert.match((await page.look()).parts['live-answers']!, /^<p class="empty quiet">Nothing\./);
      pages.push(page);
    }
    const record = { atMs: Date.now(), attempt: 1, status: 403, reason: 'vapid-refused' };
    const rejected = withResult('https://fcm.googleapis.com', 'rejected', { record });
    await commitNext(operator.store, rejected, broadcast.id);
    const [all, accepted, one] = pages;
    const ofAll = await all!.changes(isAnswered);
    assert.equal(ofAll['live-attempts']?.match(/subscriptions\/\d+"/g)?.length, 3);
    assert.ok(!('live-attempts' in (await accepted!.changes(isAnswered))));
    // reasons and the one answer are read one after the other
    await one!.changes((parts) => isAnswered(parts) && /rejected/.test(parts['live-answer'] ?? ''));
  });

  test('a live page is told of when its figures are, what is true of them, and when they cannot be read', async (t) => {
    const operator = await startOperator(t);
    await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const { broadcast } = await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const page = watch(operator, `/console/live/broadcasts/${broadcast.id}`, await signIn(operator));
    const startMs = Date.now() - 60_000;
    const { atMs, status } = await page.look();
    assert.ok(atMs > startMs && atMs <= Date.now());
    assert.deepEqual(status, [`Broadcast ${broadcast.id} is running`]);
    const reads = t.mock.method(operator.store.broadcasts, 'get', fail);
    const isUnread = async () => (await page.ask()).status === 500;
    await until(isUnread, 'the fault');
    const sessions = t.mock.method(operator.store.operators, 'findBySession', fail);
    reads.mock.restore();
    assert.ok(await isUnread());
    sessions.mock.restore();
    assert.ok((await page.look()).atMs > atMs);
  });
});

// Server-sent events of broadcasts: what is sent, what a client that comes back gets, and clients that stall or die.

interface Event {
  readonly event: string;
  readonly id: string;
  readonly data: {
    readonly state?: string;
    readonly settled?: number;
    readonly reason?: string;
    readonly broadcastId?: number;
  };
}

async function* eventsOf(response: Response): AsyncGenerator<Event> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (text + chunk).split('\n\n');
    text = parts.pop()!;
    for (const part of parts) {
      const fields = new Map(part.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
      if (!fields.has('event')) continue;
      yield {
        event: fields.get('event')!,
        id: fields.get('id')!,
        data: JSON.parse(fields.get('data')!) as Event['data'],
      };
    }
  }
}

async function allEventsOf(response: Response): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

const message = { title: 'Ding dong', message: 'Tea is ready' };
const later = { startAt: new Date('2099-01-01T00:00Z') };

const follow = ({ ask }: RunningOperator, id: number, headers = {}): Promise<Response> =>
  ask(`/v1/broadcasts/${id}/events`, { headers });

test('progress, each alarm and the end are sent, and the stream ends', async (t) => {
  const stage = await startStage(t, [{}, {}]);
  const { broadcast } = await stage.sender.createBroadcast('all', message, later);
  const response = await follow(stage, broadcast.id);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const events = eventsOf(response);
  const { event, data } = (await events.next()).value as Event;
  assert.deepEqual([event, data.state, data.settled], ['progress', 'scheduled', 0]);
  await stage.store.broadcasts.pause(broadcast.id);
  assert.equal(((await events.next()).value as Event).data.state, 'paused');
  await stage.store.broadcasts.cancel(broadcast.id);
  const last = (await events.next()).value as Event;
  assert.deepEqual([last.event, last.id, last.data.state], ['done', '0-done', 'cancelled']);
  assert.equal((await events.next()).done, true);
});

test('a client that comes back gets the alarms that it has missed, and after the end a 204', async (t) => {
  const stage = await startStage(t, [{}, {}]);
  for (const status of [413, 400])
    stage.pushService.faults.inject({ kind: 'status', status, body: '<b>too\u001b[31m large', times: 1 });
  await (
    await stage.sender.broadcast('all', message, { idempotencyKey: 'tea \u009b31m' })
  ).finished;
  assert.match(await (await follow(stage, 1)).text(), /^[\n\x20-\x7e]*$/, 'no terminal obeys it');
  const all = await allEventsOf(await follow(stage, 1));
  assert.deepEqual(pluck(all, 'event', 'id'), [
    ['alarm', '1'],
    ['alarm', '2'],
    ['done', '2-done'],
  ]);
  const alarms = all.slice(0, 2).map(({ data }) => data);
  assert.deepEqual(
    new Set(alarms.map(({ reason }) => reason)),
    new Set(['payload-too-large', 'bad-request']),
  );
  for (const { broadcastId } of alarms) assert.equal(broadcastId, 1);
  assert.deepEqual(await allEventsOf(await follow(stage, 1, { 'last-event-id': '1' })), all.slice(1));
  assert.equal((await follow(stage, 1, { 'last-event-id': '2-done' })).status, 204);
  const odd = await allEventsOf(await follow(stage, 1, { 'last-event-id': 'none of ours' }));
  assert.deepEqual(pluck(odd, 'event'), ['alarm', 'alarm', 'done']);
  assert.equal((await follow(stage, 99)).status, 404);

  const broadcast = { ...(await stage.store.broadcasts.get(1)), state: 'running' } as const;
  const goingOn = broadcastEvents(
    async () => ({ broadcast, settled: 1, ratePerSecond: 1 }),
    readLastEventId(''),
    async () => true,
  );
  await goingOn.next();
  const { value } = await goingOn.next();
  assert.match(String(value), /event: progress\nid: 2\n/, 'who has it has both alarms');
  await goingOn.next();
  // while it waits for news, its client goes
  const waiting = goingOn.next();
  await goingOn.return(undefined);
  assert.deepEqual(await waiting, { done: false, value: '' });
});

test('a listener that closes ends the streams of broadcasts that are not over', async (t) => {
  const stage = await startStage(t, [{}]);
  await stage.sender.createBroadcast('all', message, later);
  const events = eventsOf(await follow(stage, 1));
  await events.next();
  await stage.app.close();
  assert.equal((await events.next()).done, true);
});

test('the stream of an operator who is removed ends', async (t) => {
  const stage = await startStage(t, [{}]);
  const headers = { authorization: `Bearer ${await stage.add('viewer', 'read')}` };
  await stage.sender.createBroadcast('all', message, later);
  const events = eventsOf(await follow(stage, 1, headers));
  await events.next();
  await stage.store.operators.remove('viewer');
  await stage.store.broadcasts.pause(1);
  assert.equal((await events.next()).done, true);
});

test('200 clients follow a broadcast; one that stalls and one that dies harm neither it nor them', async (t) => {
  const stage = await startStage(
    t,
    Array.from({ length: 50 }, () => ({})),
  );
  const { broadcast } = await stage.sender.createBroadcast('all', message, later);
  const token = await stage.add('viewer', 'read');
  const openRaw = (): Socket => {
    const socket = connect(stage.port, '127.0.0.1').on('error', () => {});
    socket.write(
      `GET /v1/broadcasts/${broadcast.id}/events HTTP/1.1\r\nhost: 127.0.0.1:${stage.port}\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
    return socket;
  };
  const stalled = openRaw().pause();
  const dying = openRaw();
  const clients = await Promise.all(Array.from({ length: 198 }, () => follow(stage, broadcast.id)));
  const ends = clients.map(async (client) => (await allEventsOf(client)).at(-1)?.data.state);
  dying.destroy();
  const run = await stage.sender.broadcast('all', { ...message, title: 'Now' });
  assert.equal((await run.finished).counts.accepted, 50);
  await stage.store.broadcasts.cancel(broadcast.id);
  assert.deepEqual(new Set(await Promise.all(ends)), new Set(['cancelled']));
  stalled.destroy();
});

test('a broadcast is read once for all who follow it; a fault is said once', async (t) => {
  const { store, sender } = await startStage(t, [{}]);
  const { broadcast } = await sender.createBroadcast('all', message, later);
  const { mock } = t.mock.method(store.broadcasts, 'find');
  const faults: unknown[] = [];
  const read = createProgressReader(store.broadcasts, (error) => faults.push(error));
  const readAll = () => Promise.all(Array.from({ length: 200 }, () => read(broadcast.id)));
  assert.deepEqual(new Set((await readAll()).map((progress) => progress?.broadcast.id)), new Set([1]));
  assert.equal(mock.callCount(), 1);
  mock.mockImplementation(fail);
  await until(
    async () => new Set(await readAll()).has(undefined),
    () => 'no fault',
  );
  assert.deepEqual([mock.callCount(), faults.length], [2, 1]);
});

test('what a client does not read is not made for it', async (t) => {
  const text = 'x'.repeat(16 * 1024);
  let made = 0;
  const begun = Promise.withResolvers<void>();
  async function* endless() {
    for (;;) {
      made += 1;
      begun.resolve();
      yield text;
    }
  }
  const app = Fastify({ forceCloseConnections: true });
  app.get('/', (_request, reply) => sendEvents(reply, endless()));
  t.after(() => app.close());
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const stalled = connect(Number(new URL(base).port), '127.0.0.1').on('error', () => {});
  stalled.pause().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  t.after(() => stalled.destroy());
  await begun.promise;
  // As long as a client that reads takes for twice of what sockets buffer, the other one would have been given as much.
  let read = 0;
  const reading = new AbortController();
  const response = await fetch(base, { signal: reading.signal });
  for await (const chunk of response.body!) {
    read += chunk.length;
    if (read > 64 * 1024 * 1024) break;
  }
  assert(made * text.length < 2 * read - 32 * 1024 * 1024, `${made} events for ${read} bytes`);
});

// What the console says of a broadcast, and what it does to one: real requests to a real listener with a real database.

async function startWith(t: TestContext, subscriptions: number) {
  const operator = await startOperator(t);
  await addSubscriptions(operator.store, subscriptions);
  const create = async (startAt?: Date): Promise<number> =>
    (await operator.sender.createBroadcast('all', message, { startAt })).broadcast.id;
  return { ...operator, operator, create, visitor: await signIn(operator) };
}

test('the tiles count every broadcast that is open, and the overview says how many it shows of them', async (t) => {
  const { create, store, visitor } = await startWith(t, 1);
  for (let index = 0; index < 55; index += 1) await create();
  await create(new Date(Date.now() + 3_600_000));
  await store.broadcasts.pause(await create());
  const overview = wordsOf(await visitor.open('/console/'));
  assert.match(overview, /Broadcasts running 55 1 scheduled, 1 paused/);
  assert.match(overview, /The newest 50 of 57\./);
  const list = wordsOf(await visitor.open('/console/broadcasts?text=nothing'));
  assert.match(list, /Running 55 .*Scheduled 1 .*Paused 1 .*Preparing 0 /);
});

test('a broadcast can be paused, resumed and cancelled where its state admits it', async (t) => {
  const { create, store, visitor } = await startWith(t, 1);
  const audienceId = await store.broadcasts.openAudience();
  const toNews = { ...madeUpBroadcast(Date.now()), audienceId, matching: { tags: { all: ['news'] } } };
  const { broadcast } = await store.broadcasts.create(toNews);
  const first = await visitor.open(`/console/broadcasts/${broadcast.id}`);
  assert.match(wordsOf(first), /preparing .*– 0 of 0 reached /);
  assert.match(first.html, /aria-label="– of 0 reached"/);
  const [scheduled, running, paused, cancelled] = [
    await create(new Date(Date.now() + 3_600_000)),
    await create(),
    await create(),
    await create(),
  ];
  await store.broadcasts.pause(paused);
  await store.broadcasts.cancel(cancelled);
  const controlsOf = async (id: number) => {
    const { html } = await visitor.open(`/console/broadcasts/${id}`);
    return [...html.matchAll(/"\/console\/broadcasts\/\d+\/(pause|resume|cancel)"/g)].map(([, name]) => name);
  };
  assert.deepEqual(await controlsOf(broadcast.id), ['pause', 'cancel'], 'preparing');
  assert.deepEqual(await controlsOf(scheduled), ['pause', 'cancel'], 'scheduled');
  assert.deepEqual(await controlsOf(running), ['pause', 'cancel'], 'running');
  assert.deepEqual(await controlsOf(paused), ['resume', 'cancel'], 'paused');
  assert.deepEqual(await controlsOf(cancelled), [], 'cancelled');
});

test('a page shows the message above the attempts, to whom it went and who made it', async (t) => {
  const { create, visitor, operator } = await startWith(t, 1);
  const words = wordsOf(await visitor.open(`/console/broadcasts/${await create()}`));
  assert.match(words, /Ding dong Tea is ready To every subscription By the application \S+ .*Attempts/);
  const body = { audience: { tags: { any: ['news'], none: ['muted'] } }, message };
  const made = await operator.ask('/v1/broadcasts', { method: 'POST', body });
  const { id } = (await made.json()) as { readonly id: number };
  assert.match(
    wordsOf(await visitor.open(`/console/broadcasts/${id}`)),
    /To subscriptions with one of the tags news and none of the tags muted By the operator tester /,
  );
});

test('what reaches people or ends a broadcast is asked with the number, and said with it afterwards', async (t) => {
  const { create, store, visitor, operator } = await startWith(t, 3);
  const id = await create();
  const url = `/console/broadcasts/${id}`;
  await visitor.open(url);
  await visitor.submit(`${url}/pause`);
  assert.match(
    wordsOf(visitor.page),
    /Resume… Cancel… Duplicate .*Paused\. 3 messages will wait until the broadcast is resumed\. /,
  );
  assert.doesNotMatch(visitor.page.html, /<form[^>]*\/(resume|cancel)"/, 'neither is done by one click');
  await visitor.open(`${url}/resume`);
  assert.match(wordsOf(visitor.page), /Resume broadcast 1\? .*3 of 3 messages will be sent/);
  await visitor.submit(`${url}/resume`);
  assert.match(wordsOf(visitor.page), /Resumed\. 3 messages will be sent\. /);
  assert.equal((await store.broadcasts.get(id)).state, 'running');
  assert.equal((await visitor.open(`${url}/resume`)).url, url, 'it was resumed already');
  await visitor.open(`${url}/cancel`);
  assert.match(wordsOf(visitor.page), /3 of 3 messages will not be sent\. This cannot be undone\./);
  await visitor.submit(`${url}/cancel`);
  const done = visitor.page.url;
  assert.match(wordsOf(visitor.page), /Cancelled\. 3 messages will not be sent\. /);
  // nobody else's link says anything, nor a changed one
  const other = await signIn(operator, 'full', 'grace');
  assert.doesNotMatch(wordsOf(await other.open(done)), /Cancelled\./);
  assert.match(wordsOf(await visitor.open(done)), /Cancelled\. 3 messages/);
  const more = done.replace('cancelled.3.', 'cancelled.4.');
  assert.notEqual(more, done);
  for (const forged of [
    more,
    done.replace('cancelled', 'confirmed'),
    done.slice(0, -1),
    `${url}?done=cancelled.3`,
  ])
    assert.doesNotMatch(wordsOf(await visitor.open(forged)), /will not be sent|Deleted \d/, forged);
});

test('a broadcast is duplicated with its message, audience and options, and makes another one', async (t) => {
  const { operator, store, visitor } = await startWith(t, 3);
  const whole = {
    title: 'Ding "dong"',
    message: 'Tea is\nready',
    url: 'https://example.org/tea',
    icon: 'https://example.org/icon.png',
    tag: null,
    renotify: true,
    requireInteraction: false,
    silent: true,
    timestamp: Date.UTC(2027, 0, 1, 9, 30),
    lang: 'en',
    dir: 'rtl',
    appBadge: 3,
    data: { order: 7 },
    actions: [
      { title: 'Open', url: 'https://example.org/open' },
      { title: 'Later', action: 'later' },
    ],
  } as const;
  const options = {
    ttlSeconds: 60,
    urgency: 'high',
    topic: 'tea',
    priority: 'high',
    perPerson: '3/day',
  } as const;
  const copy = async (id: number): Promise<number> => {
    await visitor.open(`/console/broadcasts/${id}`);
    await visitor.open(/href="([^"]*)">Duplicate/.exec(visitor.page.html)![1]!);
    assert.match(
      wordsOf(visitor.page),
      new RegExp(`A copy of broadcast ${id}; it is sent only after the review`),
    );
    await visitor.submit('/console/send', fieldsOf(visitor.page.html));
    await visitor.submit('/console/send/confirm');
    const made = Number(/broadcasts\/(\d+)/.exec(visitor.page.url)?.[1]);
    assert.notEqual(made, id);
    return made;
  };
  const contentOf = async (id: number) => {
    const { payload, audience, recipients, ...rest } = await store.broadcasts.get(id);
    const {
      id: _own,
      tag,
      ...members
    } = JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>;
    const isMadeUp = typeof tag === 'string' && tag.length === 16;
    return {
      members,
      tag: isMadeUp ? 'made up' : tag,
      audience,
      recipients,
      options: pickDeliveryOptions({ ...rest, receipts: undefined }),
    };
  };
  const tags = { all: ['news', 'de'], any: ['beta'], none: ['muted'] };
  for (const [content, audience, given] of [
    [whole, 'all', options],
    [{ ...whole, declarative: true, tag: 'tea', mutable: true }, { tags }, {}],
    [{ title: 'Order 7', message: '' }, { user: 'ada' }, {}],
    [{ title: 'Order 8', message: 'x' }, { ids: [1, 3] }, {}],
  ] as const) {
    const { broadcast } = await operator.sender.createBroadcast(audience, content, given);
    const made = await copy(broadcast.id);
    assert.deepEqual(await contentOf(made), await contentOf(broadcast.id));
    assert.deepEqual((await store.broadcasts.get(made)).createdBy, { operator: 'ada-full' });
  }
  // what the form cannot name goes to nobody by itself, and never to all
  const { broadcast } = await operator.sender.createBroadcast(
    { user: 'ada', tags },
    { title: 'x', message: 'y' },
  );
  await visitor.open(`/console/send?from=${broadcast.id}`);
  assert.match(
    wordsOf(visitor.page),
    /It went to the user &quot;ada&quot; with all of the tags .*: choose an audience\./,
  );
  await visitor.submit('/console/send', fieldsOf(visitor.page.html));
  assert.match(wordsOf(visitor.page), /Give the id of a subscription at least/);
  const endpoint = 'https://fcm.googleapis.com/fcm/send/1';
  const p256dh = generateVapidKeys().publicKey;
  const subscriptions = [{ endpoint, p256dh, auth: 'A'.repeat(22) }];
  const given = await operator.sender.createBroadcast({ subscriptions }, { title: 'x', message: 'y' });
  await visitor.open(`/console/send?from=${given.broadcast.id}`);
  assert.match(wordsOf(visitor.page), /It went to a list of .*: choose an audience\./);
  // ids as far as they fit into the form
  for (const [count, isRepeated] of [
    [1000, true],
    [1001, false],
  ] as const) {
    const ids = Array.from({ length: count }, (_, index) => index + 1);
    const listed = await operator.sender.createBroadcast({ ids }, { title: 'x', message: 'y' });
    const { html } = await visitor.open(`/console/send?from=${listed.broadcast.id}`);
    assert.equal(html.includes(ids.join(', ')), isRepeated, String(count));
    assert.equal(html.includes('choose an audience'), !isRepeated, String(count));
  }
  assert.equal((await visitor.open('/console/send?from=999')).status, 404);
});

/** What a browser would send of the form for messages. */
function fieldsOf(html: string): Readonly<Record<string, string>> {
  const form = html.slice(html.indexOf('<form method="post" action="/console/send"')).split('</form>')[0]!;
  const texts = form.matchAll(/<input[^>]*\sname="([\w.]+)"[^>]*\svalue="([^"]*)"([^>]*)/g);
  const areas = form.matchAll(/<textarea\s+name="(\w+)"[^>]*>([^<]*)</g);
  const selects = form.matchAll(/<select name="(\w+)"[^>]*>([^]*?)<\/select>/g);
  return Object.fromEntries([
    ...Array.from(texts)
      .filter(([input, , , rest]) => !input.includes('checkbox') || rest!.includes('checked'))
      .map(([, name, value]) => [name!, decode(value!)]),
    ...Array.from(areas, ([, name, text]) => [name!, decode(text!)]),
    ...Array.from(selects, ([, name, choices]) => [
      name!,
      /value="([^"]*)" selected/.exec(choices!)?.[1] ?? '',
    ]),
  ]) as Record<string, string>;
}
