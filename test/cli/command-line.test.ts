// What every command has in common: help with an example, exit codes, and faults in one clear line.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { settingGroups } from '../../src/cli/configuration/configuration.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import type { Context } from '../../src/cli/command.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runCommand } from './run-command.ts';

const headings = ['Options', ...settingGroups.map(({ heading }) => heading), 'General'];

suite('command line', { concurrency: 4 }, () => {
  test('each command has a help that says what it does, with options in one order and an example', async () => {
    const checked: string[] = [];
    const check = async (words: readonly string[]): Promise<void> => {
      const { exitCode, stdout, stderr } = await runCommand([...words, '--help']);
      const command = ['deskbell', ...words].join(' ');
      assert.deepEqual({ command, exitCode, stderr }, { command, exitCode: 0, stderr: '' });
      assert.match(stdout, new RegExp(`^Usage: ${command} .*\n\n[A-Z]`));
      assert.match(stdout, /\nExamples?:\n {2}\$ .*deskbell /);
      const shown = Array.from(stdout.matchAll(/^(\S.*):$/gm), ([, heading = '']) => heading);
      assert.deepEqual(
        shown.filter((heading) => headings.includes(heading)),
        headings.filter((heading) => shown.includes(heading)),
        `the order of ${command} --help`,
      );
      checked.push(command);
      const listed = stdout.split('\nCommands:\n')[1]?.matchAll(/^ {2}([a-z-]+) /gm) ?? [];
      await Promise.all(Array.from(listed, ([, name]) => check([...words, name!])));
    };
    await check([]);
    for (const known of ['deskbell', 'deskbell serve', 'deskbell broadcasts pause']) {
      assert.ok(checked.includes(known), `${known} is not listed`);
    }
  });

  test('descriptions of options are wrapped on a terminal of sixty columns', () => {
    const list = createProgram({} as Context)
      .commands.flatMap(({ commands }) => commands)
      .find((command) => command.parent?.name() === 'broadcasts' && command.name() === 'list');
    const help = list!.configureOutput({ getOutHelpWidth: () => 60 }).helpInformation();
    assert.deepEqual(
      help.split('\n').filter((line) => line.length > 60 && line.trim().includes(' ')),
      [],
    );
  });

  test('version says how messages are encrypted, and obeys the configuration', async () => {
    const { method } = loadAccelerator();
    assert.equal(await encryptionOf(), method);
    assert.equal(await encryptionOf('--encryption', 'builtin'), 'builtin');
    const { stdout } = await runCommand(['version', '--encryption', 'builtin']);
    assert.match(stdout, new RegExp(`Node ${process.versions.node}, .*\nEncryption: Node's builtins\n$`));
    const { exitCode, stderr } = await runCommand(['version', '--encryption', 'fast']);
    assert.equal(exitCode, 2);
    assert.match(stderr, /--encryption.*"multi-buffer", "openssl", "builtin"/);
  });

  test('a word that is nearly a command or an option is met with the right one', async () => {
    for (const [words, suggestion] of [
      [['sevre'], 'serve'],
      [['broadcasts', 'lst'], 'list'],
      [['subscription', 'list', '--help'], 'subscriptions'],
      [['broadcasts', 'lst', '-h'], 'list'],
      [['serve', '--prot', '1'], '--port'],
    ] as const) {
      const { exitCode, stdout, stderr } = await runCommand(words);
      assert.deepEqual([exitCode, stdout], [2, '']);
      assert.match(stderr, new RegExp(`Did you mean ${suggestion}\\?`));
    }
  });

  test('--version is that of the package', async () => {
    const { exitCode, stdout } = await runCommand(['--version']);
    const packageFile = join(import.meta.dirname, '../../package.json');
    const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };
    assert.equal(stdout, `${version}\n`);
    assert.equal(exitCode, 0);
  });

  const misuses: readonly (readonly string[])[] = [
    ['unknown'],
    ['--unknown'],
    ['serve', '--unknown'],
    ['serve', 'word'],
    ['serve', '--port'],
    ['serve', '--port', '80a'],
    ['serve', '--port', '65536'],
    ['serve', '--logging', 'all'],
    ['serve', '--authenticate', 'put'],
    ['serve', '--prefix', 'push'],
    ['serve', '--push-services', 'http://push.example.org/path'],
    ['send', '--title', 'a', '--message', 'b'],
    ['send', '--title', 'a', '--all'],
    ['send', '--title', 'a', '--message', 'b', '--all', '--id', '1'],
    ['send', '--title', 'a', '--message', 'b', '--id', '0'],
    ['send', '--title', 'a', '--message', 'b', '--all', '--urgency', 'urgent'],
    ['send', '--title', 'a', '--message', 'b', '--all', '--ttl', '-1'],
    ['send', '--title', 'a', '--message', 'b', '--all', '--subject', 'mailto:someone@localhost'],
    ['subscriptions', 'remove'],
    ['subscriptions', 'remove', '1.5'],
    ['subscriptions', 'import'],
    ['keys', 'generate', 'now'],
    ['session'],
    ['help', 'unknown'],
    ['help', 'schedules', 'unknown'],
    ['completion'],
    ['completion', 'fish'],
    ['push-service', '--port', '-1'],
    ['demo', '--port', '70000'],
  ];
  for (const words of misuses) {
    test(`deskbell ${words.join(' ')} exits with 2 and one line`, async () => {
      const { exitCode, stdout, stderr } = await runCommand(words);
      assert.equal(exitCode, 2);
      assert.equal(stdout, '');
      assert.match(stderr, /^deskbell: .+ \[ERR_(USAGE|CONFIGURATION)\]\n$/);
    });
  }

  test('a command group without a command shows its help and exits with 2', async () => {
    for (const words of [[], ['keys'], ['subscriptions']]) {
      const { exitCode, stderr } = await runCommand(words);
      assert.equal(exitCode, 2);
      assert.match(stderr, /^Usage: deskbell/);
    }
  });

  test('an unknown DESKBELL_ variable exits with 2', async () => {
    const { exitCode, stderr } = await runCommand(['keys', 'show'], { environment: { DESKBELL_PROT: '1' } });
    assert.equal(exitCode, 2);
    assert.match(stderr, /DESKBELL_PROT.*DESKBELL_PORT/);
  });

  test('a stack trace is shown only where it is asked for', async () => {
    const words = ['keys', 'show', '--data', '/nowhere'];
    assert.doesNotMatch((await runCommand(words)).stderr, /\n {4}at /);
    assert.match((await runCommand([...words, '--debug'])).stderr, /\n {4}at /);
    assert.match((await runCommand(words, { environment: { DESKBELL_DEBUG: '1' } })).stderr, /\n {4}at /);
  });
});

async function encryptionOf(...words: string[]): Promise<unknown> {
  const { exitCode, stdout } = await runCommand(['version', '--json', ...words]);
  assert.equal(exitCode, 0);
  return (JSON.parse(stdout) as Record<string, unknown>)['encryption'];
}
