// A `deskbell serve` that is stopped while a push service does not answer: it waits as long as closing may take.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPushService } from '../../src/push-service/index.ts';
import { environmentFor, runCommand, runUntilStopped, temporaryFolder } from './run-command.ts';

test('a message that its push service does not answer is given up while it stops, and its request is told so', async () => {
  const received = Promise.withResolvers<void>();
  await using pushService = await startPushService({
    onEvent: ({ type }) => type === 'fault' && received.resolve(),
  });
  const environment = environmentFor(await temporaryFolder(), pushService);
  const { stdout: made } = await runCommand(['keys', 'generate', '--json'], { environment });
  const { publicKey } = JSON.parse(made) as { publicKey: string };
  const [subscription] = pushService.createSinks(1, { vapidPublicKey: publicKey });
  await runCommand(['subscriptions', 'import', '-'], { environment, input: JSON.stringify(subscription) });
  const { stdout: token } = await runCommand(['operators', 'add', 'backup', '--send'], { environment });
  pushService.faults.inject({ kind: 'hang' });
  const words = ['serve', '--port', '0', '--operator', '127.0.0.1:0', '--json'];
  const service = runUntilStopped(words, { environment });
  const [line] = await service.waitFor(/^.*"operator".*$/);
  const { operator } = JSON.parse(line) as { operator: string };
  const asked = fetch(`${operator}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: { id: 1 }, message: { title: 't', message: 'm' } }),
  });
  await received.promise;
  const [exitCode, response] = await Promise.all([service.end('SIGTERM'), asked]);
  assert.equal(exitCode, 0);
  assert.equal(response.status, 503);
  const { code, items } = (await response.json()) as { code: string; items: readonly { detail: string }[] };
  assert.equal(code, 'ERR_MESSAGE_RETRY');
  assert.match(items[0]!.detail, /The transport was closed before an answer came/);
});
