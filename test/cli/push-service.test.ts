// `deskbell push-service`: the local push service as a process of its own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { createUserAgent } from '../../src/push-service/index.ts';
import { runCommand, runUntilStopped, spawnUntilStopped } from './run-command.ts';

suite('deskbell push-service', () => {
  test('it prints its addresses, serves user agents, tells what happens, and ends with 0', async () => {
    const pushService = runUntilStopped(['push-service', '--port', '0', '--json', '--events']);
    const [line] = await pushService.waitFor(/^.*"webSocketUrl".*$/);
    const { origin, webSocketUrl, controlUrl } = JSON.parse(line) as Record<string, string>;
    const userAgent = await createUserAgent({ webSocketUrl: webSocketUrl ?? '' });
    const { endpoint } = await userAgent.subscribe();
    assert.ok(endpoint.startsWith(`${origin}/wpush/`));
    await pushService.waitFor(/"type":"registered"/);
    const statistics = `${controlUrl}/statistics`;
    assert.equal((await fetch(statistics)).status, 200);
    await assert.rejects(
      fetch(statistics.replace('127.0.0.1', '127.0.0.2')),
      'it listens on no other address',
    );
    await userAgent.close();
    assert.equal(await pushService.end('SIGINT'), 0);
  });

  test('with --tls, web-push and its replacement send to it, as long as they trust its certificate', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-push-service-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const pushService = spawnUntilStopped(['push-service', '--port', '0', '--json', '--tls'], {
      cwd: folder,
    });
    const [line] = await pushService.waitFor(/^.*"certificateFile".*$/);
    const { controlUrl, certificateFile } = JSON.parse(line) as Record<string, string>;
    assert.equal(certificateFile, join(folder, 'deskbell-push-service.pem'));
    for (const library of libraries) {
      const words = ['--input-type=commonjs', '--eval', sendToSink(library, controlUrl!)];
      const send = (environment: Record<string, string>) =>
        promisify(execFile)(process.execPath, words, { env: { PATH: process.env['PATH'], ...environment } });
      const { stdout } = await send({ NODE_EXTRA_CA_CERTS: certificateFile! });
      assert.equal(stdout, '201\n', library);
      await assert.rejects(send({}), { code: 1 });
    }
    assert.equal(await pushService.end('SIGINT'), 0);
    assert.ok(!existsSync(certificateFile!));
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

/** The original, and ours in its place. */
const libraries = [
  createRequire(import.meta.url).resolve('web-push'),
  join(import.meta.dirname, '../../src/web-push/index.ts'),
];

/** A program that makes a subscription, sends to it, and prints the status of the answer. */
const sendToSink = (library: string, controlUrl: string): string => `
  const webPush = require(${JSON.stringify(library)});
  (async () => {
    const made = await fetch('${controlUrl}/sinks', { method: 'POST', body: '{"count":1}' });
    const { endpoint, p256dh, auth } = await made.json();
    const { statusCode } = await webPush.sendNotification({ endpoint, keys: { p256dh, auth } }, 'text');
    console.log(statusCode);
  })().catch(() => process.exit(1));`;
