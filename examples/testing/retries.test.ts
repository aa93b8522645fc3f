// A broadcast whose push service is busy twice: what your code does then, in milliseconds.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSender, openDataDirectory } from 'deskbell';
import { createUserAgent, startPushService } from 'deskbell/push-service';

test('a message arrives although the push service is busy', async () => {
  await using pushService = await startPushService();
  await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
  await using cleanUp = new AsyncDisposableStack(); // closes the last first, also when something fails
  const folder = await mkdtemp(join(tmpdir(), 'push-test-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const data = await openDataDirectory(folder);
  cleanUp.defer(() => data.close());
  const sender = createSender({
    store: data.store,
    vapid: { ...data.vapidKeys, subject: 'mailto:test@example.org' },
    pushServices: [pushService.origin],
    retryPolicy: { firstDelayMs: 10, firstDeferralMs: 10 }, // instead of 5 seconds and 1
    threads: 0, // in this process, without worker threads
  });
  cleanUp.defer(() => sender.close());

  pushService.faults.inject({ kind: 'status', status: 503, times: 2 });
  const subscription = await userAgent.subscribe(data.vapidKeys.publicKey);
  const run = await sender.broadcast({ subscriptions: [subscription] }, { title: 'Hello', message: 'again' });

  assert.equal((await run.finished).counts.accepted, 1);
  assert.equal(pushService.statistics().events.fault, 2); // both 503s were answered
  assert.deepEqual((await userAgent.nextMessage()).json(), { title: 'Hello', message: 'again' });
});
