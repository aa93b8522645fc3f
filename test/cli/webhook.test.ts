// `deskbell serve --webhook`: what another command does is posted, and the printed secret is the one that it is signed with.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { runCommand, runUntilStopped, temporaryFolder } from './run-command.ts';

test('deskbell serve --operator --webhook posts what another command brings about, signed', async (t) => {
  const receiver = createServer();
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  t.after(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const environment = { DESKBELL_DATA: await temporaryFolder(), DESKBELL_SUBJECT: 'mailto:you@example.org' };
  const serve = runUntilStopped(['serve', '--port', '0', '--operator', '127.0.0.1:0', '--webhook', url], {
    environment,
  });
  await serve.waitFor(/^The operator’s listener is at /);

  const posted = once(receiver, 'request') as Promise<[IncomingMessage, { end(): void }]>;
  const words = ['send', '--all', '--detach', '--title', 'Ding dong', '--message', 'Tea is ready'];
  const sent = await runCommand(words, { environment });
  assert.equal(sent.exitCode, 0, sent.stderr);
  const [request, response] = await posted;
  const body = await text(request);
  response.end();
  const { type, data } = JSON.parse(body) as {
    readonly type: string;
    readonly data: { readonly id: number };
  };
  assert.deepEqual([type, data.id], ['broadcast.done', 1]);

  const { stdout } = await runCommand(['webhook-secret'], { environment });
  assert.match(stdout, /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = request.headers;
  const key = Buffer.from(stdout.trim().replace('whsec_', ''), 'base64');
  const expected = createHmac('sha256', key)
    .update(`${String(id)}.${String(time)}.${body}`)
    .digest('base64');
  assert.equal(signature, `v1,${expected}`);
  assert.equal(await serve.end('SIGTERM'), 0);

  const alone = await runCommand(['serve', '--port', '0', '--webhook', url], { environment });
  assert.deepEqual([alone.exitCode, alone.stderr.includes('give --operator too')], [2, true]);
  const insecure = ['serve', '--port', '0', '--operator', '127.0.0.1:0', '--webhook', 'http://example.org/'];
  assert.equal((await runCommand(insecure, { environment })).exitCode, 2);
});
