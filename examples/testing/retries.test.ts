// A broadcast whose push service is busy twice: what your code does then, in milliseconds.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSender, openDataDirectory } from 'deskbell';
import { createUserAgent, startPushService } from 'deskbell/push-service';

test('a message arrives although the push service is busy', async (t) => {
  await using pushService = await startPushService();
  await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
  const folder = await mkdtemp(join(tmpdir(), 'push-test-'));
  const data = await openDataDirectory(folder);
  const sender = createSender({
    store: data.store,
    vapid: { ...data.vapidKeys, subject: 'mailto:test@example.org' },
    pushServices: [pushService.origin],
    retryPolicy: { firstDelayMs: 10, firstDeferralMs: 10 }, // instead of 5 seconds and 1
    threads: 0, // in this process, without worker threads
  });
  t.after(async () => {
    await sender.close();
    await data.close();
    await rm(folder, { recursive: true });
  });

  pushService.faults.inject({ kind: 'status', status: 503, times: 2 });
  const subscription = await userAgent.subscribe(data.vapidKeys.publicKey);
  const run = await sender.broadcast({ subscriptions: [subscription] }, { title: 'Hello', message: 'again' });

  assert.equal((await run.finished).counts.accepted, 1);
  assert.deepEqual((await userAgent.nextMessage()).json(), { title: 'Hello', message: 'again' });
});
