// A push service that breaks HTTP again and again: its rows wait, and an operator hears of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createPost, type Result } from '../../src/delivery/message-path/post.ts';
import { toRowResult, type Row } from '../../src/delivery/worker/record.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { ClockCheck } from '../../src/delivery/reports/clock-check.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { createTransport } from '../../src/transport/create-transport.ts';
import { startWire, type Wire } from '../transport/http2-wire.ts';
import { certificate } from '../transport/peers.ts';
import { pushBody, pushHeaders } from '../transport/sending.ts';

test('an answer that breaks HTTP is tried again; from the third on rows are deferred with an alarm', async () => {
  const peer = await startWire((wire: Wire) => {
    wire.greet();
    wire.onRequest = () => wire.send(Buffer.alloc(64, 0xff));
  });
  const { origin } = peer;
  const transport = createTransport({ pushServices: [origin], ca: [certificate.cert] });
  const post = createPost(transport, () => 0, new ClockCheck(() => {}), createEndpointPolicy());
  const request = { origin, path: '/', headers: pushHeaders, body: pushBody };
  const results: Result[] = [];
  for (let count = 0; count < 4; count += 1) {
    results.push(await new Promise((resolve) => post(request, resolve)));
  }
  for (const result of results.slice(0, 3)) {
    assert.ok(result.kind === 'posted' && result.outcome.kind === 'retry');
    assert.equal(result.outcome.reason, 'protocol-error');
    assert.equal(result.outcome.isInDoubt, true);
  }
  const last = results[3];
  assert.ok(last?.kind === 'deferred');
  assert.equal(last.obstacle, 'protocol-error');
  assert.ok(last.afterMs >= 60_000);
  assert.equal(peer.wires.length, 3);

  const row = { destination: { origin }, tries: { attempts: 0, deferrals: 0, expiresAtMs: 1e12 } } as Row;
  const settings = { retryPolicy: defaultRetryPolicy, now: () => 0, random: () => 0, hold: () => 1 };
  const stored = toRowResult(row, last, settings);
  assert.equal(stored.result, 'retry');
  assert.equal(stored.alarm?.reason, 'protocol-error');
  assert.match(stored.alarm.detail, /broke HTTP\/2/);
  await transport.close(0);
  await peer.close();
});
