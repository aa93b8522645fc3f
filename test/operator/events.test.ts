// Server-sent events of broadcasts: what is sent, what a client that comes back gets, and clients that stall or die.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import Fastify from 'fastify';
import {
  broadcastEvents,
  createProgressFeeds,
  readLastEventId,
  sendEvents,
} from '../../src/operator/broadcast-events.ts';
import { until } from '../../tools/until.ts';
import { startStage, type RunningOperator } from './running-operator.ts';

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
  assert.deepEqual(
    all.map(({ event, id }) => [event, id]),
    [
      ['alarm', '1'],
      ['alarm', '2'],
      ['done', '2-done'],
    ],
  );
  const alarms = all.slice(0, 2).map(({ data }) => data);
  assert.deepEqual(
    new Set(alarms.map(({ reason }) => reason)),
    new Set(['payload-too-large', 'bad-request']),
  );
  for (const { broadcastId } of alarms) assert.equal(broadcastId, 1);
  assert.deepEqual(await allEventsOf(await follow(stage, 1, { 'last-event-id': '1' })), all.slice(1));
  assert.equal((await follow(stage, 1, { 'last-event-id': '2-done' })).status, 204);
  const odd = await allEventsOf(await follow(stage, 1, { 'last-event-id': 'none of ours' }));
  assert.deepEqual(
    odd.map(({ event }) => event),
    ['alarm', 'alarm', 'done'],
  );
  assert.equal((await follow(stage, 99)).status, 404);

  const broadcast = { ...(await stage.store.broadcasts.get(1)), state: 'running' } as const;
  async function* goingOn() {
    yield { broadcast, settled: 1, ratePerSecond: 1 };
  }
  const ids: unknown[] = [];
  for await (const { event, id } of broadcastEvents(goingOn(), readLastEventId(''))) ids.push([event, id]);
  assert.deepEqual(ids.at(-1), ['progress', '2'], 'who has it has both alarms');
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

test('a broadcast is read once for all who follow it, and no more once they have left', async (t) => {
  const { store, sender } = await startStage(t, [{}]);
  const { broadcast } = await sender.createBroadcast('all', message, later);
  let reads = 0;
  const counted = {
    ...store.broadcasts,
    find: (id: number) => {
      reads += 1;
      return store.broadcasts.find(id);
    },
  };
  const feeds = createProgressFeeds(counted, (error) => assert.fail(String(error)), 60_000);
  const staying = new AbortController().signal;
  const followers = Array.from({ length: 200 }, () => feeds.follow(broadcast.id, staying));
  await Promise.all(followers.map((follower) => follower.next()));
  assert.deepEqual([reads, feeds.size], [1, 1]);
  await Promise.all(followers.map((follower) => follower.return(undefined)));
  assert.equal(feeds.size, 0);
});

test('a client that goes before its stream begins, or while it waits, leaves nothing behind', async (t) => {
  const { store, sender } = await startStage(t, [{}]);
  const { broadcast } = await sender.createBroadcast('all', message, later);
  // a last reading may be under way when the store is closed
  const feeds = createProgressFeeds(store.broadcasts, () => {}, 5);
  const app = Fastify({ forceCloseConnections: true });
  const begun = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  app.get('/', async (_request, reply) => {
    begun.resolve();
    await ready.promise;
    return sendEvents(
      reply,
      (gone) => broadcastEvents(feeds.follow(broadcast.id, gone), readLastEventId('')),
      async () => true,
      5,
    );
  });
  const closed = new Set<unknown>();
  app.server.on('request', (_request, response) => response.once('close', () => closed.add(response)));
  t.after(() => app.close());
  t.after(() => feeds.close());
  const base = await app.listen({ host: '127.0.0.1', port: 0 });
  const leaving = new AbortController();
  const early = fetch(base, { signal: leaving.signal }).catch(() => {});
  await begun.promise;
  leaving.abort();
  await early;
  await until(
    async () => closed.size === 1,
    () => 'the first request is not closed',
  );
  ready.resolve();
  const staying = new AbortController();
  const response = await fetch(base, { signal: staying.signal });
  await response.body!.getReader().read();
  staying.abort();
  await until(
    async () => closed.size === 2 && feeds.size === 0,
    () => `${feeds.size} broadcasts are still followed`,
  );
});

test('what a client does not read is not made for it', async (t) => {
  const text = 'x'.repeat(16 * 1024);
  let made = 0;
  const begun = Promise.withResolvers<void>();
  async function* endless() {
    for (;;) {
      made += 1;
      begun.resolve();
      yield { event: 'progress', id: String(made), data: text };
    }
  }
  const app = Fastify({ forceCloseConnections: true });
  app.get('/', (_request, reply) => sendEvents(reply, endless));
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
