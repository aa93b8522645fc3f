// A message to one person waits for no broadcast of its process: not for its queue, its connections, or its rate limit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { message, openBroadcastBench, vapidKeys } from './broadcast-bench.ts';
import { until } from '../../tools/until.ts';

const rows = 3000;

test('a message to one person overtakes a broadcast that fills all that may be in flight', async () => {
  await using bench = await openBroadcastBench();
  let hanging = 0;
  const pushService = await bench.startPushService({
    rows,
    onEvent: ({ type }) => {
      if (type === 'fault') hanging += 1;
    },
  });
  const [person] = pushService.createSinks(1, { vapidPublicKey: vapidKeys.publicKey });
  const subscription = parseSubscription(person, createEndpointPolicy([pushService.origin]));
  // answers to the one are right, all others never come
  pushService.faults.inject({ kind: 'status', status: 201, endpoint: subscription.endpoint });
  pushService.faults.inject({ kind: 'hang' });
  const sender = bench.createSender({ responseTimeoutMs: 3000 });
  const run = await sender.broadcast('all', message);
  await until(() => hanging >= 30, 'about as many requests as there may be connections of HTTP/1.1');

  const { outcome } = await sender.send(subscription, message);
  assert.equal(outcome.kind, 'accepted');
  assert.ok(hanging < rows / 10, `${hanging} of ${rows} messages of the broadcast were sent before`);
  await bench.store.broadcasts.cancel(run.broadcast.id);
});

test('a message to one person waits for no rate limit that holds a broadcast up', async () => {
  await using bench = await openBroadcastBench({ rows: 50 });
  const sender = bench.createSender({ maxRate: [`${bench.pushService.origin}=1/min`] });
  const run = await sender.broadcast('all', message);
  const waiting = async () => (await bench.store.broadcasts.find(run.broadcast.id))?.waiting === 49;
  await until(waiting, 'all rows but one to wait for their time');

  const [row] = await bench.store.subscriptions.page({ afterId: 0, limit: 1 });
  const results = await Promise.all([1, 2, 3].map(() => sender.send(row!, message)));
  assert.deepEqual(
    results.map(({ outcome }) => outcome.kind),
    ['accepted', 'accepted', 'accepted'],
  );
  assert.equal(bench.pushService.tallySinks()[0]?.messages, 4);
  await bench.store.broadcasts.cancel(run.broadcast.id);
});
