// `deskbell token`, and the service that takes what it prints.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { newSubscription, sendJson } from '../service/running-service.ts';
import { parseLines, runCommand, serve, temporaryFolder } from './run-command.ts';

const readClaims = (text: string) =>
  JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;

test('a token of `deskbell token` says whose a subscription is', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data, DESKBELL_SUBSCRIBER_TOKENS: 'HS256' };
  const service = await serve(['--push-only'], { environment });
  const words = ['token', '--user', '42', '--tags', 'beta, de', '--lifetime', '60'];
  const { stdout, stderr } = await runCommand(words, { environment });
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, stderr);
  // as a backend in another language makes one
  const [header, claims = '', signature] = stdout.trim().split('.');
  const keyText = await readFile(join(data, 'subscriber-token-key'), 'utf8');
  assert.match(keyText, /^[\w-]{43}\n$/);
  const mac = createHmac('sha256', Buffer.from(keyText, 'base64url')).update(`${header}.${claims}`);
  assert.equal(signature, mac.digest('base64url'));
  const { sub, aud } = readClaims(claims);
  assert.deepEqual({ sub, aud }, { sub: '42', aud: 'deskbell' });
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  const { stdout: lasting } = await runCommand(['token', '--user', '42'], { environment });
  assert.ok(Number(readClaims(lasting.split('.')[1]!)['exp']) >= inAnHour, 'an hour, if nothing is said');
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

  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const pem = join(data, 'application.pem');
  await writeFile(pem, publicKey.export({ format: 'pem', type: 'spki' }));
  const eddsa = await serve(['--subscriber-tokens', pem], { environment });
  assert.equal((await post(eddsa.address)).status, 401, 'of another algorithm');
  const text = `${Buffer.from('{"alg":"EdDSA"}').toString('base64url')}.${claims}`;
  const own = `Bearer ${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  const taken = await sendJson(eddsa.address, 'POST', '/webPush', newSubscription(), { authorization: own });
  assert.equal(taken.status, 200, await taken.text());
});

test('no token is made that no service would take', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data };
  await runCommand(['keys', 'generate'], { environment });
  const pem = join(data, 'application.pem');
  const { publicKey } = generateKeyPairSync('ed25519');
  await writeFile(pem, publicKey.export({ format: 'pem', type: 'spki' }));
  for (const [words, error] of [
    [['--user', '42'], /are off: set subscriberTokens to HS256.*ERR_CONFIGURATION/],
    [['--user', '42', '--subscriber-tokens', pem], /private key of the application/],
    [['--user', '42', '--subscriber-tokens', join(data, 'none')], /ERR_FILE/],
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
