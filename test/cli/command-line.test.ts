// What every command has in common: help with an example, exit codes, and faults in one clear line.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { skipWithout, zsh, fish } from '../../scripts/install-test-tools.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import type { Context } from '../../src/cli/command.ts';
import { settingGroups } from '../../src/cli/configuration/configuration.ts';
import { createCommandHint, invocationOf, quote } from '../../src/cli/output/command-hint.ts';
import { exitCodeOf, formatError } from '../../src/cli/output/failure.ts';
import { createProgram } from '../../src/cli/program.ts';
import { catalogue, type ErrorCode } from '../../src/errors/catalogue.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { outputOf, runCommand, temporaryFolder } from './run-command.ts';

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
    const { stdout } = await runCommand('version --encryption builtin');
    assert.match(stdout, new RegExp(`Node ${process.versions.node}, .*\nEncryption: Node's builtins\n$`));
    const { exitCode, stderr } = await runCommand('version --encryption fast');
    assert.equal(exitCode, 2);
    assert.match(stderr, /--encryption.*"multi-buffer", "openssl", "builtin"/);
  });

  test('a word that is nearly a command or an option is met with the right one', async () => {
    for (const [words, suggestion] of [
      ['sevre', 'serve'],
      ['broadcasts lst', 'list'],
      ['subscription list --help', 'subscriptions'],
      ['broadcasts lst -h', 'list'],
      ['serve --prot 1', '--port'],
    ] as const) {
      const { exitCode, stdout, stderr } = await runCommand(words);
      assert.deepEqual([exitCode, stdout], [2, '']);
      assert.match(stderr, new RegExp(`Did you mean ${suggestion}\\?`));
    }
  });

  test('--version is that of the package', async () => {
    const { exitCode, stdout } = await runCommand('--version');
    const packageFile = join(import.meta.dirname, '../../package.json');
    const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };
    assert.equal(stdout, `${version}\n`);
    assert.equal(exitCode, 0);
  });

  for (const words of [
    'unknown',
    '--unknown',
    'serve --unknown',
    'serve word',
    'serve --port',
    'serve --port 80a',
    'send x',
    'send --title a --all',
    'send x --all --id 1',
    'send x --id 0',
    'send x --all --urgency urgent',
    'send x --all --ttl -1',
    'send x --all --ids 1',
    'send x --file x --endpoint y',
    'send --file - --json-message -',
    'send x --id 1 --at 2027-01-01T00:00:00Z',
    'send x --id 1 --detach',
    'send x --ids 1,two',
    'send x --all --at tomorrow',
    'send x --all --at 2027-01-01T00:00:00',
    'send x --all --at 2037-02-30T00:00:00Z',
    'send x --all --timezone Europe/Berlin',
    'send x --all --local-time 9',
    'send x --ids 1,2 --cron @daily',
    'send x --file - --cron @daily',
    'send x --all --cron @daily --detach',
    'send x --all --cron @daily --idempotency-key monday',
    'send x --all --cron @daily --at 2027-01-01T00:00:00Z',
    'send x --id 1 --per-person 3/day',
    'send x --all --per-person 3/month',
    'subscriptions remove',
    'subscriptions remove 1.5',
    'subscriptions import',
    'keys generate now',
    'session',
    'help unknown',
    'help schedules unknown',
    'completion',
    'completion tcsh',
    'push-service --port -1',
    'demo --port 70000',
  ]) {
    test(`deskbell ${words} exits with 2 and one line`, async () => {
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

  test('a stack trace is shown only where it is asked for', async () => {
    const words = 'keys show --data /nowhere';
    assert.doesNotMatch((await runCommand(words)).stderr, /\n {4}at /);
    assert.match((await runCommand(`${words} --debug`)).stderr, /\n {4}at /);
    assert.match((await runCommand(words, { environment: { DESKBELL_DEBUG: '1' } })).stderr, /\n {4}at /);
  });
});

async function encryptionOf(...words: string[]): Promise<unknown> {
  const stdout = await outputOf(runCommand(['version', '--json', ...words]));
  return (JSON.parse(stdout) as Record<string, unknown>)['encryption'];
}

// Commands that are suggested repeat the options in use, quoted for the shell.

test('flags and variables that delivering needs are repeated; a flag wins over its variable', () => {
  const hint = createCommandHint(
    {
      invocation: 'npx deskbell',
      environment: {
        DESKBELL_SUBJECT: 'mailto:a@example.org',
        DESKBELL_THREADS: '2',
        DESKBELL_CONFIG: '/etc/deskbell.json',
        DESKBELL_PORT: '80',
      },
    },
    { data: '/srv/my data', threads: '4', title: 'Hello', json: true },
  );
  assert.equal(
    hint('broadcasts resume 7'),
    "npx deskbell broadcasts resume 7 --data '/srv/my data' --subject mailto:a@example.org --threads 4 --config /etc/deskbell.json",
  );
});

// What to type into another terminal for the command that runs now.

const invocations: readonly (readonly [what: string, node: string, file: string, typed: string])[] = [
  ['installed for all', '/usr/bin/node', '/usr/local/bin/deskbell', 'deskbell'],
  ['installed in the folder', '/usr/bin/node', '/home/me/app/node_modules/.bin/deskbell', 'npx deskbell'],
  [
    'from the sources',
    '/home/me/app/node_modules/node/bin/node',
    '/home/me/app/src/cli/main.cts',
    '/home/me/app/node_modules/node/bin/node /home/me/app/src/cli/main.cts',
  ],
  [
    'from elsewhere, with a space',
    '/usr/bin/node',
    '/home/you and me/main.js',
    "/usr/bin/node '/home/you and me/main.js'",
  ],
];

for (const [what, node, file, typed] of invocations) {
  test(`a command ${what} is called as ${typed}`, () => {
    assert.equal(invocationOf([node, file], '/home/me/app'), typed);
  });
}

test('a word for the shell is quoted where it needs to be', () => {
  assert.equal(quote('/tmp/deskbell-demo-x1/deskbell.json'), '/tmp/deskbell-demo-x1/deskbell.json');
  assert.equal(quote("it's"), String.raw`'it'\''s'`);
});

// What a command says of an error: one line with what failed, the reason in plain words, the remedy and the code.

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return assert.fail('it does not fail');
}

test('an error of the operating system names the file or the system call, and its reason', () => {
  assert.match(
    formatError(catchError(() => readFileSync('/nowhere/at/all'))),
    /^deskbell: \/nowhere\/at\/all cannot be used: no such file or directory\. .* \[ERR_FILE\]$/,
  );
  assert.match(
    formatError(catchError(() => writeSync(1_000_000, 'text'))),
    /^deskbell: The system call write failed: EBADF.* \[ERR_FILE\]$/,
  );
});

test('lines of a message become one; a cause that is no system error is left to --debug', () => {
  const error = new DeskbellError('ERR_CONFIGURATION', 'one\n  two.', { cause: new Error('inner') });
  const line = formatError(error);
  assert.match(line, /^deskbell: one two\. .* \[ERR_CONFIGURATION\]$/);
  assert.ok(!line.includes('inner'));
  assert.match(formatError(error, { debug: true }), /\n {4}at .*\ncaused by Error: inner\n/s);
});

test('what is thrown without being an error is reported too', () => {
  assert.match(formatError('broken'), /^deskbell: broken\. .* \[ERR_COMMAND\]$/);
});

test('a remedy that the message names already is not repeated', () => {
  const error = new DeskbellError(
    'ERR_STORE_CORRUPT',
    'It is damaged. Restore it from a backup; or delete it.',
  );
  assert.equal(
    formatError(error),
    'deskbell: It is damaged. Restore it from a backup; or delete it. [ERR_STORE_CORRUPT]',
  );
});

test('usage and configuration that are wrong exit with 2, all other errors with 1', () => {
  for (const code of Object.keys(catalogue) as ErrorCode[]) {
    const isWrongUsage = code === 'ERR_USAGE' || code === 'ERR_CONFIGURATION';
    assert.equal(exitCodeOf(new DeskbellError(code, 'x')), isWrongUsage ? 2 : 1, code);
  }
  assert.equal(exitCodeOf(new Error('x')), 1);
});

// `deskbell completion` in the shells themselves, and `deskbell help`.

/** What is typed, the last word being completed, and what is offered. */
const cases: readonly (readonly [typed: readonly string[], offered: readonly string[]])[] = [
  [['sch'], ['schedules']],
  [
    ['schedules', ''],
    ['list', 'show', 'pause', 'resume', 'remove'],
  ],
  [['schedules', 'p'], ['pause']],
  [['schedules', 'pause', ''], []],
  [['schedules', 'list', '--js'], ['--json']],
  [
    ['help', 'keys', 'r'],
    ['rotate', 'retire'],
  ],
  [
    ['send', '--urgency', ''],
    ['very-low', 'low', 'normal', 'high'],
  ],
  [['send', '--all', '--urgency', 'n'], ['normal']],
  [['send', '--title', ''], []],
  [['serve', '--encryption', 'o'], ['openssl']],
  [
    ['serve', '--reg'],
    ['--registrations', '--registrations-per-minute'],
  ],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  // a value that is a command's name leads nowhere
  [['send', '--user', 'keys', '--urg'], ['--urgency']],
  [
    ['restore', ''],
    ['a file.gz', 'folder'],
  ],
  [['worker', '--config', 'a'], ['a file.gz']],
];

async function filesToName(): Promise<string> {
  const folder = await temporaryFolder();
  writeFileSync(join(folder, 'a file.gz'), '');
  mkdirSync(join(folder, 'folder'));
  return folder;
}

const scriptFor = async (shell: string): Promise<string> => {
  const stdout = await outputOf(runCommand(['completion', shell]));
  return stdout;
};

/** One process for all: each case ends with a line of its own. */
function ask(shell: readonly string[], script: string, cwd: string): readonly (readonly string[])[] {
  const [program = '', ...words] = shell;
  const printed = execFileSync(program, words, { input: script, cwd, encoding: 'utf8' });
  return printed.split('--\n').map((answer) => answer.split('\n').filter((line) => line !== ''));
}

suite('completion', () => {
  test('bash completes commands, flags and values', async () => {
    const script = await scriptFor('bash');
    const asked = cases.map(([typed]) => {
      const words = ['deskbell', ...typed].map(quote).join(' ');
      return `COMP_WORDS=(${words}) COMP_CWORD=${typed.length}; _deskbell; printf '%s\\n' "\${COMPREPLY[@]}" --`;
    });
    // which bash makes three words of
    const equals = `COMP_WORDS=(deskbell send --urgency = h) COMP_CWORD=4; _deskbell; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const input = [script, ...asked, equals].join('\n');
    const answers = ask(['bash', '--norc'], input, await filesToName());
    assert.deepEqual(
      answers.slice(0, -1).map((offered) => offered.toSorted()),
      cases.map(([, offered]) => offered.toSorted()),
    );
    assert.deepEqual(answers.at(-1), ['high']);
    // every command of the help
    const { stdout } = await runCommand('--help');
    const commands = Array.from(
      stdout.split('\nCommands:\n')[1]!.matchAll(/^ {2}([a-z-]+) /gm),
      ([, name]) => name!,
    );
    const all = `COMP_WORDS=(deskbell '') COMP_CWORD=1; _deskbell; printf '%s\\n' "\${COMPREPLY[@]}"`;
    assert.deepEqual(ask(['bash', '--norc'], `${script}\n${all}`, '/')[0], commands);
  });

  test(
    'zsh completes the same, with what each word means',
    { skip: skipWithout('completion of zsh', [zsh]) },
    async () => {
      // in the place of the functions of its completion, which need a terminal
      const functions = `
        compdef() { registered=$* }
        compset() { words[CURRENT]=\${words[CURRENT]#*=} }
        _describe() {
          [[ $1 == -o ]] && shift
          local -a all; all=("\${(@P)2}")
          print -rl -- \${(M)all:#\${words[CURRENT]}*}
        }
        _files() { print -rl -- \${words[CURRENT]}*(N) }`;
      const asked = [...cases.map(([typed]) => typed), ['send', '--urgency=h']].map((typed) => {
        const words = ['deskbell', ...typed].map(quote).join(' ');
        return `words=(${words}) CURRENT=${typed.length + 1}; _deskbell; print -r -- --`;
      });
      const input = [functions, await scriptFor('zsh'), ...asked, 'print -r -- $registered'].join('\n');
      const answers = ask(['zsh', '-f'], input, await filesToName());
      assert.deepEqual(
        answers.slice(0, -2).map((offered) => offered.map((line) => line.split(':')[0]).sort()),
        cases.map(([, offered]) => offered.toSorted()),
      );
      assert.deepEqual(answers.slice(-2), [['high'], ['_deskbell deskbell']]);
      assert.match(answers[0]?.[0] ?? '', /^schedules:Lists, shows, pauses/);
    },
  );

  test('fish completes the same', { skip: skipWithout('completion of fish', [fish]) }, async () => {
    const asked = cases.map(
      ([typed]) => `complete -C ${quote(['deskbell', ...typed].join(' '))}; printf "%s\\n" --`,
    );
    const input = [await scriptFor('fish'), ...asked].join('\n');
    const answers = ask(['fish', '--no-config', '--command', 'cat | source'], input, await filesToName());
    assert.deepEqual(
      answers
        .slice(0, -1)
        .map((offered) => offered.map((line) => line.split('\t')[0]!.replaceAll(/\\|\/$/g, '')).sort()),
      cases.map(([, offered]) => offered.toSorted()),
    );
  });

  test('help prints what --help prints', async () => {
    for (const words of [[], ['schedules'], ['schedules', 'pause']]) {
      const { stdout } = await runCommand(['help', ...words]);
      assert.equal(stdout, (await runCommand([...words, '--help'])).stdout);
    }
  });
});
