// `deskbell keys`: a pair is made once, moves in and out as text, and is never lost by accident.
import assert from 'node:assert/strict';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { exampleSubscription } from './example-subscriptions.ts';
import { runCommand, spawnUntilStopped, temporaryFolder } from './run-command.ts';

// It brings no types.
const webPush = createRequire(import.meta.url)('web-push') as {
  generateVAPIDKeys(): { publicKey: string; privateKey: string };
  setVapidDetails(subject: string, publicKey: string, privateKey: string): void;
};

suite('deskbell keys', { concurrency: true }, () => {
  test('generate makes a pair that only its owner can read, show prints it', async () => {
    const data = join(await temporaryFolder(), 'new/data');
    const made = await runCommand(['keys', 'generate', '--data', data, '--json']);
    assert.equal(made.exitCode, 0);
    const { publicKey } = JSON.parse(made.stdout) as { publicKey: string };
    assert.match(publicKey, /^[\w-]{87}$/);
    assert.equal((await stat(data)).mode & 0o777, 0o700);
    assert.equal((await stat(join(data, 'vapid-keys.json'))).mode & 0o777, 0o600);

    const shown = await runCommand(['keys', 'show', '--data', data]);
    assert.equal(shown.stdout, `Public key:  ${publicKey}\n`);
    const both = await runCommand(['keys', 'show', '--private', '--data', data]);
    assert.match(both.stdout, /^Public key: {2}[\w-]{87}\nPrivate key: [\w-]{43}\n$/);
  });

  test('a second generate changes nothing, with --force it makes another pair', async () => {
    const data = await temporaryFolder();
    const show = async () => (await runCommand(['keys', 'show', '--data', data])).stdout;
    await runCommand(['keys', 'generate', '--data', data]);
    const first = await show();
    const again = await runCommand(['keys', 'generate', '--data', data]);
    assert.equal(again.exitCode, 1);
    assert.match(again.stderr, /ERR_KEY_FILE_EXISTS/);
    assert.equal(await show(), first);
    const forced = await runCommand(['keys', 'generate', '--data', data, '--force']);
    assert.equal(forced.exitCode, 0);
    assert.notEqual(await show(), first);
  });

  test('a pair that the npm package web-push made is taken over, and the other way round', async () => {
    const data = await temporaryFolder();
    const keys = webPush.generateVAPIDKeys();
    const file = join(data, 'web-push.json');
    await writeFile(file, JSON.stringify(keys));
    const imported = await runCommand(['keys', 'generate', '--import', file, '--data', data]);
    assert.equal(imported.exitCode, 0, imported.stderr);
    const again = await runCommand(['keys', 'generate', '--import', file, '--data', data]);
    assert.deepEqual(again, {
      ...imported,
      stderr:
        'Found a private key (32 bytes in base64) and its public key (65 bytes in base64).\n' +
        'This pair is there already; nothing was changed.\n',
    });
    const { stdout } = await runCommand(['keys', 'show', '--private', '--json', '--data', data]);
    assert.deepEqual(JSON.parse(stdout), keys);
    assert.doesNotThrow(() =>
      webPush.setVapidDetails('mailto:push@example.org', keys.publicKey, keys.privateKey),
    );
  });

  test('the text for people that tools print is taken from standard input', async () => {
    const data = await temporaryFolder();
    const { publicKey, privateKey } = webPush.generateVAPIDKeys();
    const input = `\n=====\n\nPublic Key:\n${publicKey}\n\nPrivate Key:\n${privateKey}\n\n=====\n`;
    const { exitCode, stdout } = await runCommand(['keys', 'generate', '--import', '-', '--data', data], {
      input,
    });
    assert.equal(exitCode, 0);
    assert.match(stdout, new RegExp(publicKey));
  });

  test('halves that do not belong together, one half, or two pairs are refused, and no key is repeated', async () => {
    const data = await temporaryFolder();
    const [one, other] = [webPush.generateVAPIDKeys(), webPush.generateVAPIDKeys()];
    const texts = [
      JSON.stringify({ publicKey: one.publicKey, privateKey: other.privateKey }),
      JSON.stringify({ publicKey: one.publicKey }),
      JSON.stringify([one, other]),
      '',
    ];
    for (const input of texts) {
      const { exitCode, stderr } = await runCommand(['keys', 'generate', '--import', '-', '--data', data], {
        input,
      });
      assert.equal(exitCode, 1);
      assert.match(stderr, /ERR_VAPID_KEY_INVALID/);
      for (const key of [one.privateKey, other.privateKey]) assert.ok(!stderr.includes(key));
    }
    const shown = await runCommand(['keys', 'show', '--data', data]);
    assert.match(shown.stderr, /ERR_KEY_FILE_MISSING/);
  });

  test('a lost key file beside subscriptions is not replaced unasked; the lost pair itself comes back', async () => {
    const data = await temporaryFolder();
    await runCommand(['keys', 'generate', '--data', data]);
    const { stdout: backup } = await runCommand(['keys', 'show', '--private', '--data', data]);
    const input = JSON.stringify(exampleSubscription(1));
    await runCommand(['subscriptions', 'import', '-', '--data', data], { input });
    await rm(join(data, 'vapid-keys.json'));

    const { exitCode, stderr } = await runCommand(['keys', 'generate', '--data', data]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /ERR_KEY_FILE_EXISTS/);
    const restored = await runCommand(['keys', 'generate', '--import', '-', '--data', data], {
      input: backup,
    });
    assert.equal(restored.exitCode, 0, restored.stderr);
  });

  test('a key file cut short is a fault, never a new pair', async () => {
    const data = await temporaryFolder();
    await runCommand(['keys', 'generate', '--data', data]);
    await writeFile(join(data, 'vapid-keys.json'), '{"publicKey":"BA');
    for (const words of [
      ['keys', 'show'],
      ['subscriptions', 'list'],
    ]) {
      const { exitCode, stderr } = await runCommand([...words, '--data', data]);
      assert.equal(exitCode, 1);
      assert.match(stderr, /ERR_KEY_FILE_CORRUPT/);
    }
  });

  test('a key file that cannot be written is named', async () => {
    const data = await temporaryFolder();
    await mkdir(join(data, 'vapid-keys.json'));
    const { exitCode, stderr } = await runCommand(['keys', 'generate', '--force', '--data', data]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^deskbell: .*vapid-keys\.json cannot be written: it is a directory.*ERR_FILE\]\n$/);
  });

  test('an import that waits for standard input ends on SIGINT and makes no pair', async () => {
    const data = join(await temporaryFolder(), 'data');
    const waiting = spawnUntilStopped(['keys', 'generate', '--import', '-', '--data', data]);
    // What is written is taken by the process once it reads.
    await new Promise((resolve) => waiting.stdin.write(' '.repeat(1_000_000), resolve));
    assert.equal(await waiting.end('SIGINT'), 1);
    await assert.rejects(stat(data), { code: 'ENOENT' });
  });

  test('show says that a data directory is missing', async () => {
    const { exitCode, stderr } = await runCommand(['keys', 'show', '--data', '/nowhere/at/all']);
    assert.equal(exitCode, 1);
    assert.match(stderr, /ERR_DATA_MISSING/);
  });
});
