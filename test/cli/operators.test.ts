// `deskbell operators` beside a listener that runs: a token works once it is added, and no longer once it is removed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { curl, skipWithout } from '../../scripts/install-test-tools.ts';
import { createPersonHash } from '../../src/cli/data/data-command.ts';
import { loadOrCreateSecret } from '../../src/keys/secret-files.ts';
import { runCommand, runUntilStopped, temporaryFolder, type RunResult } from './run-command.ts';

test('deskbell operators beside serve --operator', async (t) => {
  const environment = { DESKBELL_DATA: await temporaryFolder(), DESKBELL_SUBJECT: 'mailto:you@example.org' };
  const run = (...words: string[]): Promise<RunResult> => runCommand(words, { environment });
  const serve = runUntilStopped(['serve', '--port', '0', '--operator', '127.0.0.1:0'], { environment });
  const [, publicAddress = ''] = await serve.waitFor(/^Deskbell listens on (http:\S+) /);
  const [, address = ''] = await serve.waitFor(/^The operator’s listener is at (http:\S+)$/);
  const ask = (token: string, base = address): Promise<Response> =>
    fetch(`${base}/v1/keys`, { headers: { authorization: `Bearer ${token}` } });

  await t.test('a token is printed once, and only its hash is stored', async () => {
    const { stdout, exitCode } = await run('operators', 'add', 'shop');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^deskbell_op_[\w-]{43}\n$/);
    const token = stdout.trim();
    assert.equal((await ask(token)).status, 200);
    assert.equal((await ask(token, publicAddress)).status, 404);
    const folder = environment.DESKBELL_DATA;
    const secret = Buffer.from(token.slice('deskbell_op_'.length), 'base64url');
    for (const name of readdirSync(folder)) {
      const content = readFileSync(join(folder, name));
      assert(!content.includes(token) && !content.includes(secret), name);
    }
    const listed = await run('operators', 'list', '--json');
    assert.match(listed.stdout, /^\{"name":"shop","role":"full","createdAt":"[^"]+"\}\n$/);
    const again = await run('operators', 'add', 'shop');
    assert.equal(again.exitCode, 1);
    assert.match(again.stderr, /\[ERR_OPERATOR_EXISTS\]\n$/);
    assert.equal((await run('operators', 'remove', 'shop')).stdout, 'Removed shop\n');
    assert.equal((await ask(token)).status, 401);
    assert.match((await run('operators', 'remove', 'shop')).stderr, /\[ERR_OPERATOR_NOT_FOUND\]\n$/);
  });

  await t.test('roles and names', async () => {
    for (const [flag, role] of [
      ['--read-only', 'read'],
      ['--send', 'send'],
      ['--metrics', 'metrics'],
    ] as const) {
      const { stdout } = await run('operators', 'add', role, flag, '--json');
      const { token, ...rest } = JSON.parse(stdout) as { readonly token: string };
      assert.deepEqual(rest, { name: role, role });
      assert.equal((await ask(token)).status, role === 'read' ? 200 : 403);
    }
    const listed = await run('operators', 'list');
    assert.match(listed.stdout, /^metrics {2}\S+Z {2}metrics\nread {5}\S+Z {2}read\nsend {5}\S+Z {2}send\n$/);
    const words = ['--operator', '127.0.0.1:9', '--operator-cert', 'cert.pem'];
    const encrypted = await run('operators', 'add', 'encrypted', ...words);
    assert.match(encrypted.stderr, /'https:\/\/127\.0\.0\.1:9\/v1\/messages/);
    assert.equal((await run('operators', 'add', 'a b')).exitCode, 2);
    assert.equal((await run('operators', 'add', 'both', '--metrics', '--read-only')).exitCode, 2);
    assert.equal((await run('operators', 'add', 'both', '--metrics', '--send')).exitCode, 2);
    assert.equal((await run('operators', 'add', 'both', '--send', '--read-only')).exitCode, 2);
  });

  await t.test(
    'the line that is printed with a token sends, for whoever has curl',
    { skip: skipWithout('the line for curl', [curl]) },
    async () => {
      // the address is that which serve listens on
      const { stdout, stderr } = await run('operators', 'add', 'backup', '--send');
      const [, line] = stderr.trimEnd().split('\n');
      assert.equal(
        line?.trim(),
        `curl --fail-with-body --retry 5 -H "Authorization: Bearer ${stdout.trim()}" -H "content-type: text/plain" -d "Backups are done" '${address}/v1/messages?user=me'`,
      );
      // nobody is subscribed yet
      assert.match(
        (await promisify(execFile)('sh', ['-c', `! ${line} -sS 2>/dev/null`])).stdout,
        /"code":"ERR_SUBSCRIPTION_NOT_FOUND"/,
      );
      const given = await run('operators', 'add', 'given', '--send', '--operator', '127.0.0.1:9');
      assert.match(given.stderr, /'http:\/\/127\.0\.0\.1:9\/v1\/messages/);
      const elsewhere = await run('operators', 'add', 'other', '--send', '--json');
      assert.equal(elsewhere.stderr, '');
    },
  );

  await t.test('what operators changed is listed, and no command is', async () => {
    const { stdout } = await run('operators', 'add', 'editor');
    const person = await fetch(`${address}/v1/people/ada`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' },
      body: '{"language":"de"}',
    });
    assert.equal(person.status, 200);
    const hashPerson = createPersonHash(await loadOrCreateSecret(environment.DESKBELL_DATA, 'session-key'));
    const changed = await run('audit', '--action', 'person.update', '--json');
    assert.match(changed.stdout, new RegExp(`"target":"user ${hashPerson('ada')}"`));
    for (const path of ['broadcasts/9/pause', 'schedules/9/pause']) {
      const headers = { authorization: `Bearer ${stdout.trim()}` };
      assert.equal((await fetch(`${address}/v1/${path}`, { method: 'POST', headers })).status, 404);
    }
    const listed = (await run('audit')).stdout.split('\n');
    assert.match(listed[0] ?? '', /^AT +OPERATOR +ACTION +STATUS {2}TARGET$/);
    assert.match(listed[1] ?? '', /^\S+Z {2}editor +schedule\.pause +404 +schedule 9$/);
    const found = await run('audit', '--operator', 'editor', '--action', 'broadcast.pause', '--json');
    assert.match(found.stdout, /^\{"at":"[^"]+Z","id":\d+,.*"target":"broadcast 9","status":404\}\n$/);
    assert.equal((await run('audit', '--operator', 'nobody')).stderr, 'No such changes.\n');
    assert.equal((await run('audit', '--since', '2100-01-01T00:00Z', '--json')).stdout, '');
    assert.equal((await run('audit', '--since', 'yesterday')).exitCode, 2);
    assert.equal((await run('audit', '--limit', '1', '--json')).stdout.split('\n').length, 2);
  });

  await t.test('it does not start where its tokens would travel unencrypted', async () => {
    for (const words of [
      ['--operator', '0.0.0.0:0'],
      ['--operator', '127.0.0.1'],
      ['--operator', '127.0.0.1:0', '--operator-cert', 'cert.pem'],
    ]) {
      const { exitCode, stderr } = await run('serve', '--port', '0', ...words);
      assert.equal(exitCode, 2, words.join(' '));
      assert.match(stderr, /\[ERR_CONFIGURATION\]\n$/);
    }
    const files = ['--operator-cert', 'no', '--operator-key', 'no'];
    const missing = await run('serve', '--port', '0', '--operator', '127.0.0.1:0', ...files);
    assert.match(missing.stderr, /\[ERR_FILE\]\n$/);
    const none = ['--operator-cert', 'package.json', '--operator-key', 'package.json'];
    const wrong = await run('serve', '--port', '0', '--operator', '127.0.0.1:0', ...none);
    assert.match(wrong.stderr, /package\.json are not a certificate and its private key, both in PEM/);
  });

  assert.equal(await serve.end('SIGTERM'), 0);
  assert.doesNotMatch(serve.written(), /"event":"worker"|worker started/, 'it does not deliver');
});

test('deskbell operators add before anything else creates the data directory, and says so', async () => {
  const data = join(await temporaryFolder(), 'new');
  const { stdout, stderr, exitCode } = await runCommand(['operators', 'add', 'shop', '--data', data]);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^deskbell_op_/);
  assert.equal(stderr.split('\n')[0], `Created the data directory ${data}.`);
  const again = await runCommand(['operators', 'add', 'ada', '--data', data, '--read-only']);
  assert.equal(again.stderr, '');
  const missing = await runCommand(['operators', 'list', '--data', `${data}er`]);
  assert.match(missing.stderr, /\[ERR_DATA_MISSING\]/);
});

test('the hash of a person needs the key, and is the same for the same person', () => {
  const [one, other] = [createPersonHash(Buffer.alloc(32, 1)), createPersonHash(Buffer.alloc(32, 2))];
  assert.match(one('ada'), /^[\w-]{22}$/);
  assert.equal(one('ada'), one('ada'));
  assert.notEqual(one('ada'), one('bob'));
  assert.notEqual(one('ada'), other('ada'));
});
