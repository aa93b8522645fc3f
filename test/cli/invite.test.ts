// `deskbell invite`: the link that it prints, its QR code, and the service that takes it.
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodeQR } from 'qr/decode.js';
import { drawQrCode } from '../../src/cli/commands/invite.ts';
import { newSubscription, sendJson } from '../service/running-service.ts';
import { parseLines, runCommand, serve, temporaryFolder } from './run-command.ts';

const publicUrl = 'https://bell.example.org';

test('a link of `deskbell invite` lets one browser in, at a service that keeps its public URL', async () => {
  const data = await temporaryFolder();
  const environment = { DESKBELL_DATA: data };
  const service = await serve(['--registrations', 'invited', '--public-url', publicUrl], { environment });
  await service.waitFor(/^Only invited browsers .* invite me --data .* --public-url https:\S+ --port 0$/);
  assert.deepEqual(JSON.parse(await readFile(join(data, 'settings.json'), 'utf8')), { publicUrl });

  const { stdout, stderr } = await runCommand(['invite', 'me'], { environment });
  const [, token = ''] = /^https:\/\/bell\.example\.org\/#invitation=([\w-]{22})\n$/.exec(stdout) ?? [];
  for (const name of await readdir(data))
    assert.ok(!(await readFile(join(data, name))).includes(token), `${name} has the token`);
  assert.match(stderr, /^It can be used once, until \d{4}-.*Z\.\n$/);

  const post = (headers: Record<string, string>) =>
    sendJson(service.address, 'POST', '/webPush', newSubscription(), headers);
  assert.equal((await post({})).status, 403);
  assert.equal((await post({ 'deskbell-invitation': token })).status, 200);
  assert.equal((await post({ 'deskbell-invitation': token })).status, 403);
  assert.ok(!service.written().includes(token), 'the log has the token');
  const { stdout: listed } = await runCommand(['subscriptions', 'list', '--json'], { environment });
  assert.equal(parseLines(listed)[0].user, 'me');

  const { stdout: json } = await runCommand(['invite', 'ada', '--json'], { environment });
  const { user, link, expiresAt } = JSON.parse(json) as Record<string, string>;
  assert.equal(user, 'ada');
  assert.match(link!, /^https:\/\/bell\.example\.org\/#invitation=/);
  assert.ok(Date.parse(expiresAt!) > Date.now());
  const nobody = await runCommand(['invite', 'x'.repeat(129)], { environment });
  assert.match(nobody.stderr, /The user has 129 bytes.*ERR_FIELD_VALUE/);
});

test('the link is that of the public URL; on loopback without one it is a plain one that says what to set', async () => {
  const data = await temporaryFolder();
  await runCommand(['keys', 'generate', '--data', data]);
  const invite = (...words: readonly string[]) => runCommand(['invite', 'me', '--data', data, ...words]);
  for (const [words, link, note] of [
    [[], /^http:\/\/127\.0\.0\.1:8080\/#inv/, /on this machine only.*give --public-url/],
    [['--port', '8090', '--prefix', '/push'], /^http:\/\/127\.0\.0\.1:8090\/push\/#inv/, /give --public-url/],
    [['--public-url', 'http://localhost:8080'], /^http:\/\/localhost:8080\/#inv/, /on this machine only/],
    [
      ['--public-url', `${publicUrl}/bell`],
      /^https:\/\/bell\.example\.org\/bell\/#inv/,
      /^It can be used once/,
    ],
  ] as const) {
    const { stdout, stderr } = await invite(...words);
    assert.match(stdout, link, stderr);
    assert.match(stderr, note);
  }
  for (const [words, error] of [
    [['--host', '0.0.0.0'], /give --public-url with the https URL.*ERR_CONFIGURATION/],
    [['--port', '0'], /give --public-url.*ERR_CONFIGURATION/],
    [['--public-url', 'http://bell.example.org'], /must begin with "https:".*ERR_CONFIGURATION/],
    [['--public-url', 'bell.example.org'], /must be a URL such as.*ERR_CONFIGURATION/],
    [['--public-url', `${publicUrl}/?x`], /scheme, host, port and path alone.*ERR_CONFIGURATION/],
  ] as const) {
    const { exitCode, stdout, stderr } = await invite(...words);
    assert.notEqual(exitCode, 0);
    assert.equal(stdout, '');
    assert.match(stderr, error);
  }
});

test('what the data directory keeps gives way to file, environment and flags, and is checked', async () => {
  const data = await temporaryFolder();
  await runCommand(['keys', 'generate', '--data', data]);
  const stored = join(data, 'settings.json');
  const hostOfLink = async (environment: Record<string, string>, ...words: readonly string[]) => {
    const { stdout, stderr } = await runCommand(['invite', 'me', '--data', data, ...words], { environment });
    return stdout === '' ? stderr : new URL(stdout).host;
  };
  await writeFile(stored, '{"publicUrl":"https://stored.example"}', { mode: 0o600 });
  const config = join(data, 'own.json');
  await writeFile(config, '{"publicUrl":"https://file.example"}', { mode: 0o600 });
  const fromFile = { DESKBELL_CONFIG: config };
  const fromEnvironment = { ...fromFile, DESKBELL_PUBLIC_URL: 'https://environment.example' };
  assert.equal(await hostOfLink({}), 'stored.example');
  assert.equal(await hostOfLink(fromFile), 'file.example');
  assert.equal(await hostOfLink(fromEnvironment), 'environment.example');
  assert.equal(await hostOfLink(fromEnvironment, '--public-url', 'https://flag.example'), 'flag.example');
  await writeFile(stored, '{"publicUrl":"ftp://stored.example"}');
  assert.match(await hostOfLink({}), /"publicUrl" in .*settings\.json is .*ERR_CONFIGURATION/);
});

test('a QR code of the link can be read', async () => {
  const link = `${publicUrl}/#invitation=AbCdEfGhIjKlMnOpQrStUv`;
  assert.equal(readQrCode(await drawQrCode(link)), link);
});

/** As a camera sees it: each module is some pixels wide. */
function readQrCode(lines: readonly string[]): string {
  const scale = 4;
  const rows = lines.flatMap((line) => [
    [...line].map((character) => '▀█'.includes(character)),
    [...line].map((character) => '▄█'.includes(character)),
  ]);
  const width = rows[0]!.length * scale;
  const height = rows.length * scale;
  const data = new Uint8Array(width * height * 4).fill(255);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const isDark = rows[Math.floor(y / scale)]![Math.floor(x / scale)];
      if (isDark) data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  return decodeQR({ width, height, data });
}
