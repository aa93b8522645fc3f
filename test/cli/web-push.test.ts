// `deskbell web-push` next to the command of the npm package: the same flags give the same output and the same request.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';

import { describeRequest, makeSubscriber } from '../web-push/original.ts';
import { certificate, startProxy, startPushServer } from '../web-push/push-servers.ts';
import { outputOf, runCommand, type RunResult } from './run-command.ts';

const originalCommand = join(dirname(createRequire(import.meta.url).resolve('web-push')), 'cli.js');

const withoutKeys = (text: string): string => text.replaceAll(/[\w-]{42,}/g, 'KEY');

const runOurs = (words: readonly string[], environment: Record<string, string> = {}): Promise<RunResult> =>
  runCommand(['web-push', ...words], { environment });

suite('deskbell web-push', () => {
  let server: Awaited<ReturnType<typeof startPushServer>>;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let folder: string;
  let environment: Record<string, string>;
  before(async () => {
    server = await startPushServer();
    proxy = await startProxy();
    folder = await mkdtemp(join(tmpdir(), 'deskbell-web-push-'));
    await writeFile(join(folder, 'ca.pem'), certificate.cert);
    environment = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
    setDefaultCACertificates([certificate.cert]);
  });
  after(async () => {
    await Promise.all([server.close(), proxy.close(), rm(folder, { recursive: true })]);
  });

  const runOriginal = async (words: readonly string[], more: Record<string, string>): Promise<string> => {
    const env = { PATH: process.env['PATH'], ...environment, ...more };
    const { stdout } = await promisify(execFile)(process.execPath, [originalCommand, ...words], { env });
    return stdout;
  };

  test('generate-vapid-keys prints the same, around other keys', async () => {
    for (const words of [['generate-vapid-keys'], ['generate-vapid-keys', '--json']]) {
      const stdout = await outputOf(runOurs(words));
      assert.equal(withoutKeys(stdout), withoutKeys(await runOriginal(words, {})));
      assert.deepEqual(
        Array.from(stdout.matchAll(/[\w-]{42,}/g), ([key]) => key.length),
        [87, 43],
      );
    }
  });

  test('send-notification sends the same', async () => {
    const subscriber = makeSubscriber(`${server.origin}/status/201`);
    const { endpoint, keys } = subscriber.subscription;
    const { publicKey, privateKey } = JSON.parse(
      (await runOurs(['generate-vapid-keys', '--json'])).stdout,
    ) as Readonly<Record<string, string>>;
    const vapid = [
      '--vapid-subject=mailto:push@example.org',
      `--vapid-pubkey=${publicKey}`,
      `--vapid-pvtkey=${privateKey}`,
    ];
    const target = [`--endpoint=${endpoint}`, `--key=${keys.p256dh}`, `--auth=${keys.auth}`];
    for (const flags of [
      [`--endpoint=${endpoint}`],
      [...target, '--payload=Hello', '--ttl=60', ...vapid],
      [...target, '--payload', 'Hello', '--encoding', 'aesgcm', ...vapid],
      [...target, '--payload=Hello', `--proxy=${proxy.url}`, '--gcm-api-key=key'],
    ]) {
      const words = ['send-notification', ...flags];
      const expected = { stdout: await runOriginal(words, { GCM_API_KEY: 'key' }), requests: server.take() };
      const { stdout, exitCode } = await runOurs(words, { GCM_API_KEY: 'key' });
      assert.deepEqual([stdout, exitCode], [expected.stdout, 0]);
      const requests = [expected.requests, server.take()].map((seen) =>
        seen.map(({ headers, body }) => describeRequest(headers, body, subscriber)),
      );
      assert.deepEqual(requests[1], requests[0]);
    }
    assert.equal(proxy.take().length, 2);
  });

  test('send-notification prints what went wrong, and then its exit code is 1', async () => {
    for (const flags of [[`--endpoint=${server.origin}/status/410?body=over`], ['--endpoint=nonsense'], []]) {
      const { stdout, stderr, exitCode } = await runOurs(['send-notification', ...flags]);
      if (flags.length === 0) {
        assert.deepEqual([stdout, exitCode], ['', 2]);
        assert.match(stderr, /--endpoint <url>.*\[ERR_USAGE\]/);
        continue;
      }
      assert.equal(exitCode, 1);
      assert.match(
        stdout,
        /^Error sending push message: \n(WebPushError: Received unexpected|TypeError.*URL)/,
      );
      assert.match(stderr, /\[ERR_NOT_ACCEPTED\]\n$/);
    }
  });
});
