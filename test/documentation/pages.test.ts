// The pages of the documentation: every link leads somewhere, pages and cells of tables are short, every command line exists, and
// exported names have comments.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { suite, test } from 'node:test';
import { readEntries } from '../../scripts/exported-names.ts';
import { root } from '../../scripts/repository.ts';
import { anchorOf } from '../../scripts/write-page.ts';
import { settingNames, variableOf } from '../../src/cli/configuration/configuration.ts';
import { furtherVariables } from '../../src/cli/configuration/read-configuration.ts';
import { runCommand } from '../cli/run-command.ts';
import { codeBlocks, pages } from './pages.ts';
import { pluck } from '../../tools/pluck.ts';

interface Link {
  readonly path: string;
  readonly target: string;
}

const links: readonly Link[] = pages.flatMap(({ path, text }) =>
  Array.from(withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => ({
    path,
    target: target!,
  })).filter(({ target }) => !/^[a-z]+:/.test(target)),
);

test('every link inside the repository leads somewhere', () => {
  assert.deepEqual(
    links.filter(({ path, target }) => !leadsSomewhere(path, target)),
    [],
  );
});

test('every link of a page in the package leads to a file in the package', () => {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  // npm adds these by itself.
  const packed = [...files, 'README.md', 'LICENSE', 'package.json'];
  const isPacked = (path: string) => packed.some((each) => path === each || path.startsWith(`${each}/`));
  const leaving = links.filter(({ path, target }) => isPacked(path) && !isPacked(fileOf({ path, target })));
  assert.deepEqual(leaving, []);
});

test('every file of the source that CONTRIBUTING.md and docs/architecture.md name is there', () => {
  const texts = pages.filter(({ path }) => /CONTRIBUTING|architecture/.test(path)).map(({ text }) => text);
  const named = texts.flatMap((text) => text.match(/(?<=`)(?:[\w.-]+\/)+[\w-]+\.\w+(?=`)/g) ?? []);
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter((path) => !/^(dist|deskbell)/.test(path) && !isInSource(path)),
    [],
  );
});

const isInSource = (path: string): boolean =>
  [path, `src/${path}`].some((each) => existsSync(join(root, each)));

function fileOf({ path, target }: Link): string {
  const [file = ''] = target.split('#');
  return file === '' ? path : normalize(join(dirname(path), file));
}

function leadsSomewhere(from: string, target: string): boolean {
  const [, anchor] = target.split('#');
  const path = fileOf({ path: from, target });
  if (path.startsWith('..') || !existsSync(join(root, path))) return false;
  return anchor === undefined || anchorsOf(readFileSync(join(root, path), 'utf8')).has(anchor);
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = withoutCode(text).matchAll(/^#+ (.+)$/gm);
  return new Set(Array.from(headings, ([, heading]) => anchorOf(heading!)));
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, '');
}

test('the index of the documentation has every page, once', () => {
  const index = pages.find(({ path }) => path === 'docs/README.md')!.text;
  const listed = Array.from(index.matchAll(/\]\(([\w-]+\.md)\)/g), ([, file]) => `docs/${file}`);
  const others = pages.map(({ path }) => path).filter((path) => /^docs\/(?!README)/.test(path));
  assert.deepEqual(listed.sort(), others.sort());
});

/** Made from the code, to look things up in. */
const reference = /^docs\/(?:commands|library)\.md$/;

test('no page has more than 200 lines, except those of reference', () => {
  const long = pages.filter(({ path, text }) => !reference.test(path) && text.split('\n').length > 201);
  assert.deepEqual(pluck(long, 'path'), []);
});

test('no cell of a table has more than 200 characters', () => {
  const long = pages.flatMap(({ path, text }) =>
    Array.from(withoutCode(text).matchAll(/^\|(.*)\|$/gm), ([, row]) => row!.split(/(?<!\\)\|/))
      .flat()
      .filter((cell) => cell.trim().length > 200)
      .map((cell) => `${path}: ${cell.trim()}`),
  );
  assert.deepEqual(long, []);
});

// Every name that the package exports has a comment, which editors show; those that people meet first have an example.

const met = [
  'createSender',
  'openDataDirectory',
  'generateVapidKeys',
  'createServer',
  'createService',
  'createMiddleware',
  'createClient',
  'startPushService',
  'createUserAgent',
  'parseSubscription',
  'encodePayload',
  'sendNotification',
];

suite('exported names', () => {
  const all = readEntries().flatMap(({ declarations }) => declarations);

  test('each has a comment', () => {
    assert(all.length > 150, String(all.length));
    const bare = all.filter(({ comment }) => comment === undefined);
    assert.deepEqual(
      bare.map(({ name, file }) => `${name} in ${file.slice(root.length + 1)}`),
      [],
    );
  });

  for (const name of met) {
    test(`${name} has an example`, () => {
      const found = all.find((declaration) => declaration.name === name);
      assert.match(found?.comment ?? '', /@example\n/);
    });
  }
});

// Every command line of the documentation exists: commands and options of `deskbell`, scripts of package.json, files
// that Node is told to run, and variables of the environment.

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
