// `deskbell push-service`: the local push service as a process of its own.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createUserAgent } from '../../src/push-service/index.ts';
import { runCommand, runUntilStopped } from './run-command.ts';

suite('deskbell push-service', () => {
  test('it prints its addresses, serves user agents, tells what happens, and ends with 0', async () => {
    const pushService = runUntilStopped(['push-service', '--port', '0', '--json', '--events']);
    const [line] = await pushService.waitFor(/^.*"webSocketUrl".*$/);
    const { origin, webSocketUrl, controlUrl } = JSON.parse(line) as Record<string, string>;
    const userAgent = await createUserAgent({ webSocketUrl: webSocketUrl ?? '' });
    const { endpoint } = await userAgent.subscribe();
    assert.ok(endpoint.startsWith(`${origin}/wpush/`));
    await pushService.waitFor(/"type":"registered"/);
    assert.equal((await fetch(`${controlUrl}/statistics`)).status, 200);
    await userAgent.close();
    assert.equal(await pushService.end('SIGINT'), 0);
  });

  test('a port in use is a clear fault', async () => {
    const first = runUntilStopped(['push-service', '--port', '0']);
    const [, port = ''] = await first.waitFor(/^Push service listens on http:\/\/127\.0\.0\.1:(\d+) /);
    const { exitCode, stderr } = await runCommand(['push-service', '--port', port]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^deskbell: .* \[ERR_LISTEN\]\n$/);
    await first.end();
  });
});
