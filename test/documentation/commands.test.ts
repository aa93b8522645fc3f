// Every command line of the documentation exists: commands and options of `deskbell`, scripts of package.json, files
// that Node is told to run, and variables of the environment.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { settingNames, variableOf } from '../../src/cli/configuration/configuration.ts';
import { furtherVariables } from '../../src/cli/configuration/read-configuration.ts';
import { runCommand } from '../cli/run-command.ts';
import { codeBlocks, pages, root } from './pages.ts';

interface CommandLine {
  readonly path: string;
  readonly words: readonly string[];
}

const commandLines: readonly CommandLine[] = [
  ...codeBlocks.filter(({ language }) => language === 'sh').flatMap(({ path, code }) => split(path, code)),
  ...pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/`((?:deskbell|npm|node) [^`]+)`/g), ([, code]) => split(path, code!)).flat(),
  ),
];

test('every `deskbell` command of the documentation exists, with its options', async () => {
  const helps = new Map<string, Promise<string>>();
  const help = (words: readonly string[]): Promise<string> => {
    const key = words.join(' ');
    const known = helps.get(key) ?? runCommand([...words, '--help']).then(({ stdout }) => stdout);
    helps.set(key, known);
    return known;
  };
  const wrong: string[] = [];
  for (const { path, words } of commandLines.filter(({ words: [name] }) => name === 'deskbell')) {
    const command: string[] = [];
    let text = await help(command);
    for (const word of words.slice(1)) {
      if (word.startsWith('-') || !new RegExp(`^  ${RegExp.escape(word)}(?: |$)`, 'm').test(text)) break;
      command.push(word);
      text = await help(command);
    }
    // A word that is left where the command only has further commands is none of them.
    const next = words[command.length + 1];
    const isUnknown = /^Commands:$/m.test(text) && next !== undefined && /^\w/.test(next);
    const options = words.filter((word) => /^--?[a-z]/.test(word));
    const unknown = options.filter((option) => !new RegExp(`(?:^|[\\s,])${option}(?![\\w-])`).test(text));
    if (isUnknown || unknown.length > 0) wrong.push(`${path}: ${words.join(' ')} (${unknown.join(', ')})`);
  }
  assert.deepEqual(wrong, []);
});

test('every npm script and every file that the documentation runs exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: object;
  };
  const wrong = commandLines.filter(({ path, words: [program, first = '', second = ''] }) => {
    if (program === 'npm' && first === 'run') return !(second in scripts);
    if (program === 'npm' && first === 'test') return !('test' in scripts);
    if (program !== 'node') return false;
    const file = first === '--test' ? second : first;
    const { text } = pages.find((page) => page.path === path)!;
    // In the folder of whoever reads the page, which has the files that it shows.
    if (text.includes(`/${file} -->`)) return false;
    return /\.[jt]s$/.test(file) && globSync(file, { cwd: root }).length === 0;
  });
  assert.deepEqual(wrong, []);
  assert.ok(existsSync(join(root, '.ci/run')));
});

test('every DESKBELL_ variable of the documentation exists', () => {
  const known = new Set([...settingNames.map(variableOf), ...furtherVariables]);
  const wrong = pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/\bDESKBELL_\w+/g), ([name]) => name)
      .filter((name) => !known.has(name) && name !== 'DESKBELL_')
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(wrong, []);
});

/** Splits shell code into its single commands, and those into words; comments and prompts are left out. */
function split(path: string, code: string): CommandLine[] {
  return code
    .replaceAll(/\\\n/g, ' ')
    .replaceAll(/(?:^|\s)#.*$/gm, '')
    .split(/\n|&&|;|(?<!\|)\|(?!\|)/)
    .map((line) => line.match(/"[^"]*"|'[^']*'|\S+/g) ?? [])
    .filter((words) => words.length > 0)
    .map((words) => ({ path, words }));
}
