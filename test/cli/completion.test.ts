// `deskbell completion` in the shells themselves, and `deskbell help`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { skipWithout, zsh } from '../../scripts/install-test-tools.ts';
import { runCommand, temporaryFolder } from './run-command.ts';

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
    ['bash', 'zsh'],
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
  const { stdout, stderr, exitCode } = await runCommand(['completion', shell]);
  assert.equal(exitCode, 0, stderr);
  return stdout;
};

const inQuotes = (word: string): string => `'${word}'`;

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
    const { stdout } = await runCommand(['--help']);
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

  test('help prints what --help prints', async () => {
    for (const words of [[], ['schedules'], ['schedules', 'pause']]) {
      const { stdout } = await runCommand(['help', ...words]);
      assert.equal(stdout, (await runCommand([...words, '--help'])).stdout);
    }
  });
});
