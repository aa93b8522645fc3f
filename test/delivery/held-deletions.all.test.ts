// A push service, or a proxy in front of it, that answers 404 to everything must not empty the store; one that works
// and calls some subscriptions gone has them deleted.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { startServer } from '../transport/peers.ts';
import { broadcastToAll, openStage, openStageWithRecorder, protocols, vapidKeys } from './fault-stage.ts';

const rows = 600;

describe('held deletions', { concurrency: 2 }, () => {
  for (const protocol of protocols) {
    for (const threads of [0, 2]) {
      test(`404 to everything deletes none of ${rows}, over ${protocol}, ${threads} threads`, async (t) => {
        const { stage, recorder } = await openStageWithRecorder(t, protocol);
        await stage.enroll([...recorder.service.createSinks(rows, { vapidPublicKey: vapidKeys.publicKey })]);
        recorder.faults.inject({ kind: 'status', status: 404 });

        const broadcast = await broadcastToAll(stage, { sender: { threads } });
        assert.equal(broadcast.counts.gone, rows);
        assert.equal((await stage.stored()).length, rows);
        assert.deepEqual(
          broadcast.alarms.map(({ origin, reason }) => [origin, reason]),
          [[recorder.origin, 'deletions-held']],
        );
        const [held] = await stage.store.heldDeletions.list();
        assert.deepEqual([held?.origin, held?.subscriptions], [recorder.origin, rows]);

        // the push service works again: everybody is still there, and nobody is marked any more
        recorder.faults.clear();
        const next = await broadcastToAll(stage, { sender: { threads } });
        assert.equal(next.counts.accepted, rows);
        assert.equal((await stage.stored()).length, rows);
        assert.deepEqual(await stage.store.heldDeletions.list(), []);
      });
    }

    test(`a normal run deletes the few that are gone, over ${protocol}`, async (t) => {
      const { stage, recorder } = await openStageWithRecorder(t, protocol);
      const gone = recorder.sinks(30);
      const alive = recorder.sinks(570);
      await stage.enroll([...gone.slice(0, 15), ...alive, ...gone.slice(15)]);
      for (const { endpoint } of gone) recorder.faults.inject({ kind: 'status', status: 410, endpoint });

      const broadcast = await broadcastToAll(stage);
      assert.deepEqual([broadcast.counts.gone, broadcast.counts.accepted], [30, 570]);
      assert.equal((await stage.stored()).length, 570);
      assert.deepEqual(broadcast.alarms, []);
    });
  }

  test('a push service that turns to 410 in the middle of a broadcast by eight workers deletes none', async (t) => {
    const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2');
    const many = 6000;
    await stage.enroll([...recorder.service.createSinks(many, { vapidPublicKey: vapidKeys.publicKey })]);
    const sent = broadcastToAll(stage, { sender: { threads: 8 } });
    await recorder.until(() => recorder.accepted >= many / 2);
    recorder.faults.inject({ kind: 'status', status: 410 });
    const { counts } = await sent;
    assert.equal(counts.gone + counts.accepted, many);
    assert.ok(counts.gone > 100, `${counts.gone} were called gone`);
    assert.equal((await stage.stored()).length, many, JSON.stringify(counts));
    assert.equal((await stage.store.heldDeletions.list())[0]?.subscriptions, counts.gone);
  });

  test('a proxy in front of the push service that answers 404 to everything deletes none', async (t) => {
    const stage = await openStage(t);
    const proxy = createServer((request, response) => {
      request.resume();
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>');
    });
    const { origin, close } = await startServer(proxy, 'http');
    t.after(close);
    const policy = createEndpointPolicy([origin]);
    const [p256dh, auth] = [vapidKeys.publicKey, 'BTBZMqHH6r4Tts7J_aSIgg'];
    await stage.store.subscriptions.putAll(
      Array.from({ length: rows }, (_, index) => ({
        subscription: parseSubscription({ endpoint: `${origin}/${index}`, p256dh, auth }, policy),
        vapidPublicKey: vapidKeys.publicKey,
      })),
    );
    const broadcast = await broadcastToAll(stage, { sender: { pushServices: [origin] } });
    assert.equal(broadcast.counts.gone, rows);
    assert.equal((await stage.stored()).length, rows);
    assert.deepEqual(
      broadcast.alarms.map((alarm) => [alarm.origin, alarm.reason]),
      [[origin, 'deletions-held']],
    );
  });
});
