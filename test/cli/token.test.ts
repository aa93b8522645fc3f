// `deskbell token`, and the service that takes what it prints.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { newSubscription, sendJson } from '../service/running-service.ts';
import { parseLines, runCommand, serve, temporaryFolder } from './run-command.ts';

test('a token of `deskbell token` says whose a subscription is', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data, DESKBELL_SUBSCRIBER_TOKENS: 'HS256' };
  const service = await serve(['--push-only'], { environment });
  const words = ['token', '--user', '42', '--tags', 'beta, de', '--lifetime', '60'];
  const { stdout, stderr } = await runCommand(words, { environment });
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, stderr);
  const authorization = `Bearer ${stdout.trim()}`;
  const post = (address: string) =>
    sendJson(address, 'POST', '/webPush', newSubscription(), { authorization });
  assert.equal((await post(service.address)).status, 200);
  const { stdout: listed } = await runCommand(['subscriptions', 'list', '--json'], { environment });
  const [{ user, tags }] = parseLines(listed);
  assert.deepEqual({ user, tags }, { user: '42', tags: ['beta', 'de'] });
  assert.equal((await stat(join(data, 'subscriber-token-key'))).mode & 0o777, 0o600);

  const forOthers = await serve(['--subscriber-token-audience', 'shop'], { environment });
  assert.equal((await post(forOthers.address)).status, 401);
});

test('no token is made that no service would take', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data };
  await runCommand(['keys', 'generate'], { environment });
  const pem = join(data, 'application.pem');
  const { publicKey } = generateKeyPairSync('ed25519');
  await writeFile(pem, publicKey.export({ format: 'pem', type: 'spki' }));
  const eddsa = ['--subscriber-tokens', 'EdDSA'];
  for (const [words, error] of [
    [['--user', '42'], /are off: set subscriberTokens to HS256.*ERR_CONFIGURATION/],
    [['--user', '42', ...eddsa], /give --subscriber-token-key.*ERR_CONFIGURATION/],
    [['--user', '42', ...eddsa, '--subscriber-token-key', pem], /private key of the application/],
    [['--user', '42', ...eddsa, '--subscriber-token-key', join(data, 'none')], /ERR_FILE/],
    [['--user', '42', '--subscriber-tokens', 'HS256', '--lifetime', '3601'], /at most 3600.*ERR_FIELD_VALUE/],
    [['--user', '42', '--subscriber-tokens', 'HS256', '--tags', 'a b'], /A tag must be/],
    [['--subscriber-tokens', 'HS256'], /--user <id>.*ERR_USAGE/],
  ] as const) {
    const { exitCode, stdout, stderr } = await runCommand(['token', ...words], { environment });
    assert.notEqual(exitCode, 0);
    assert.equal(stdout, '');
    assert.match(stderr, error);
  }
});
