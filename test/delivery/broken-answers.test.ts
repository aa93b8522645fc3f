// Answers that cannot be read: what may have arrived is repeated three times at most.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { test } from 'node:test';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { certificate, startServer } from '../transport/peers.ts';
import { assertDone, message, openBroadcastBench, vapidKeys } from './broadcast-bench.ts';

/** More than either version's reader takes. */
const headerField = 'x'.repeat(70_000);

for (const protocol of ['HTTP/2', 'HTTP/1.1'] as const) {
  test(`a 201 with 70 kB of header fields counts as in doubt after four copies, over ${protocol}`, async (t) => {
    let copies = 0;
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      request.resume().on('end', () => {
        copies += 1;
        response.writeHead(201, Object.fromEntries([1, 2, 3].map((n) => [`x-${n}`, headerField]))).end();
      });
    };
    const peer =
      protocol === 'HTTP/2'
        ? await startServer(
            createSecureServer({ ...certificate, maxSendHeaderBlockLength: 1_000_000 }, answer as never),
            'https',
          )
        : await startServer(createServer(answer), 'http');
    t.after(() => peer.close());
    await using bench = await openBroadcastBench();
    const endpoint = `${peer.origin}/subscription`;
    const { p256dh, auth } = generateUserAgentKeys();
    await bench.store.subscriptions.put({ endpoint, p256dh, auth }, vapidKeys.publicKey);
    // the pauses after faults of HTTP do not matter here
    let nowMs = 0;
    const sender = bench.createSender({
      pushServices: [peer.origin],
      ca: [certificate.cert],
      monotonicNow: () => (nowMs += 5_000),
      retryPolicy: { firstDelayMs: 10, firstDeferralMs: 10, maxDelayMs: 50, maxDeferralMs: 50 },
    });
    const run = await sender.broadcast('all', message);
    const done = await run.finished;
    assertDone(done, { doubtful: 1 });
    assert.equal(copies, 4);
    assert.equal(done.origins[0]?.attempts, 4);
    assert.equal(await bench.store.subscriptions.count(), 1);
  });
}
