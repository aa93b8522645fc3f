// `deskbell demo` and `deskbell push-service`: a notification’s whole way in one command, and the local push service as a process.
import assert from 'node:assert/strict';
import { exec, execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { createUserAgent } from '../../src/push-service/index.ts';
import { runCommand, runUntilStopped, spawnUntilStopped, temporaryFolder } from './run-command.ts';

/** What is left there is the demo's own. */
async function useEmptyTemporaryFolder(t: TestContext): Promise<string> {
  const folder = await temporaryFolder();
  const { TMPDIR } = process.env;
  t.after(() => (process.env['TMPDIR'] = TMPDIR));
  return (process.env['TMPDIR'] = folder);
}

/** With the address and the token that it prints. */
async function askOperator(demo: ReturnType<typeof runUntilStopped>): Promise<void> {
  const [, address = ''] = await demo.waitFor(/^The operator's console is at (http:\S+)\/, its API at /);
  const [, token = ''] = await demo.waitFor(/^ {2}(deskbell_op_\S+)$/);
  const keys = await fetch(`${address}/v1/keys`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(keys.status, 200);
}

suite('deskbell demo', () => {
  test('--once prints each step with its time, then the notification as decrypted, and leaves nothing', async (t) => {
    const folder = await useEmptyTemporaryFolder(t);
    const { exitCode, stdout, stderr } = await runCommand('demo --once');
    assert.equal(exitCode, 0, stderr);
    assert.equal(stderr, '');
    const lines = stdout.trimEnd().split('\n');
    const last = lines.pop() ?? '';
    const notification = JSON.parse(last.replace(/^notification /, '')) as Record<string, string>;
    assert.deepEqual(Object.keys(notification), ['title', 'message']);
    for (const line of lines)
      assert.match(line, /^ *\d+ ms {2}(push service|service|user agent|store|sender) /);
    assert.match(stdout, /answers 201: accepted/);
    assert.doesNotMatch(stdout, /undefined|null/);
    assert.deepEqual(await readdir(folder), []);
  });

  test('without --once it goes on, and the commands that it prints and that its page shows send the next ones', async (t) => {
    const folder = await useEmptyTemporaryFolder(t);
    const demo = runUntilStopped('demo --port 0');
    const [, address = ''] = await demo.waitFor(/Now open the demo page in your browser: (http:\S+)$/);
    const page = await fetch(address);
    assert.equal(page.status, 200);
    const html = await page.text();
    assert.match(html, /<title>Deskbell<\/title>/);

    await askOperator(demo);

    const [, command = ''] = await demo.waitFor(/^ {2}(.+ send --config .+)$/);
    const { stdout } = await promisify(exec)(command, { cwd: folder });
    assert.match(stdout, /^ +1 accepted /m);
    await demo.waitFor(/ms {2}sender +Broadcast 1 to 1 subscription is done: 1 accepted\.$/);
    await demo.waitFor(/^notification {"title":"Hello","message":"From another terminal"}$/);

    const [, shownCommand = ''] = /<code id="command">(.+)<\/code>/.exec(html)!;
    const [start, words = ''] = shownCommand.split(/(?<=main\.cts) /);
    assert.ok(command.startsWith(`${start} `));
    await runCommand(Array.from(words.matchAll(/"(.+?)"|\S+/g), ([word, quoted]) => quoted ?? word));
    await demo.waitFor(/^notification {"title":"Ding dong","message":"Tea is ready"}$/);

    assert.equal(await demo.end('SIGINT'), 0);
    assert.deepEqual(await readdir(folder), []);
  });

  test('a port that is asked for and taken is a fault; the usual one being taken is not', async (t) => {
    const folder = await useEmptyTemporaryFolder(t);
    const first = runUntilStopped('demo --port 0');
    const [, port = ''] = await first.waitFor(/Now open the demo page in your browser: http:\S+:(\d+)\/$/);
    const second = await runCommand(['demo', '--once', '--port', port]);
    assert.equal(second.exitCode, 1);
    assert.match(second.stderr, /^deskbell: .* \[ERR_LISTEN\]\n$/);
    const [one, other] = [runUntilStopped('demo'), runUntilStopped('demo')];
    for (const demo of [one, other]) {
      await demo.waitFor(/Now open the demo page/);
      await askOperator(demo);
    }
    await Promise.all([first, one, other].map((demo) => demo.end('SIGTERM')));
    assert.deepEqual(await readdir(folder), []);
  });
});

// `deskbell push-service`: the local push service as a process of its own.

suite('deskbell push-service', () => {
  test('it prints its addresses, serves user agents, tells what happens, needs its port alone, and ends with 0', async () => {
    const pushService = runUntilStopped('push-service --port 0 --json --events');
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
    const second = await runCommand(['push-service', '--port', new URL(origin!).port]);
    assert.equal(second.exitCode, 1);
    assert.match(second.stderr, /^deskbell: .* \[ERR_LISTEN\]\n$/);
    assert.equal(await pushService.end('SIGINT'), 0);
  });

  test('with --tls, web-push and its replacement send to it, as long as they trust its certificate', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'deskbell-push-service-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const pushService = spawnUntilStopped('push-service --port 0 --json --tls', {
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
