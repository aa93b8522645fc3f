// A sender that sends to https only, such as web-push, beside `deskbell push-service --tls`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateVAPIDKeys, sendNotification } from 'deskbell/web-push'; // or 'web-push'

const control = `${process.env['PUSH_SERVICE'] ?? 'https://127.0.0.1:8090'}/control/sinks`;

test('a message is accepted', async () => {
  const { publicKey, privateKey } = generateVAPIDKeys();
  // A subscription without a browser, which counts its messages.
  const made = await fetch(control, {
    method: 'POST',
    body: JSON.stringify({ count: 1, vapidPublicKey: publicKey }),
  });
  const { endpoint, p256dh, auth } = (await made.json()) as Record<string, string>;

  const { statusCode } = await sendNotification(
    { endpoint: endpoint!, keys: { p256dh: p256dh!, auth: auth! } },
    'Hello',
    { vapidDetails: { subject: 'mailto:test@example.org', publicKey, privateKey } },
  );
  assert.equal(statusCode, 201);

  const batches = (await (await fetch(control)).json()) as readonly { messages: number }[];
  assert.equal(batches.at(-1)?.messages, 1);
});
