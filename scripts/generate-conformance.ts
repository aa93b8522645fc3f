// Writes docs/conformance.md from the titles of the conformance suite: each requirement of the specification with its
// test. With --check it writes nothing and fails where the page differs from the tests.
import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Requirement {
  readonly chapter: string;
  readonly sentence: string;
  readonly file: string;
}

const root = join(import.meta.dirname, '..');
const page = join(root, 'docs/conformance.md');

/** Requirements that are tested where their means are: cell by cell, or in real browsers. */
const elsewhere: readonly (Requirement & { readonly title: string })[] = [
  {
    chapter: 'Logging',
    sentence:
      'What each mechanism can see is the table of the specification: 16 cells, each seen or not to be seen',
    file: 'test/service/logging-mechanisms.test.ts',
    title: 'what each mechanism can see',
  },
  {
    chapter: 'Logging',
    sentence:
      'The order is the same where an action fails, the authenticator or CSRF refuses, or the client goes away',
    file: 'test/service/logging-mechanisms.test.ts',
    title: 'stays the same where the action fails',
  },
  {
    chapter: 'Desktop notification and events',
    sentence:
      'The page gets the push message as a stream and shows it with title, body, tag and requireInteraction',
    file: 'test/browser/demo-page-suite.ts',
    title: 'a message shows as a notification that stays, and in the open page',
  },
  {
    chapter: 'Desktop notification and events',
    sentence: 'A notification with the same tag replaces the earlier one',
    file: 'test/browser/demo-page-suite.ts',
    title: 'a second message replaces the notification of the first; the page lists both',
  },
  {
    chapter: 'Desktop notification and events',
    sentence: 'The background worker receives the message, with no page open as well',
    file: 'test/browser/demo-page-suite.ts',
    title: 'a message arrives with no page open',
  },
  {
    chapter: 'Errors',
    sentence: 'A failure to reach the server is written to the browser’s console',
    file: 'test/browser/demo-page-suite.ts',
    title: 'a server that is down is told, also on the console; once it is up, the same button works',
  },
];

const requirements = [...(await readSuite()), ...(await checkElsewhere())];
const content = render(requirements);
const isCurrent = (await readFile(page, 'utf8').catch(() => '')) === content;
if (!isCurrent && process.argv.includes('--check')) {
  console.error('docs/conformance.md is not what the conformance suite says. Run: npm run docs');
  process.exitCode = 1;
} else if (!isCurrent) {
  await writeFile(page, content);
  console.log('docs/conformance.md written');
}

async function readSuite(): Promise<Requirement[]> {
  const files: string[] = [];
  for await (const file of glob('test/conformance/*.test.ts', { cwd: root })) files.push(file);
  const found: Requirement[] = [];
  for (const file of files.sort()) {
    const source = await readFile(join(root, file), 'utf8');
    let chapter = '';
    for (const [, call, title = ''] of source.matchAll(/\b(describe|test)\(\s*'((?:[^'\\]|\\.)*)'/g)) {
      if (call === 'describe') chapter = title;
      else found.push({ chapter, sentence: title, file });
    }
  }
  return found;
}

async function checkElsewhere(): Promise<Requirement[]> {
  for (const { file, title } of elsewhere) {
    const source = await readFile(join(root, file), 'utf8');
    if (!source.includes(title)) throw new Error(`${file} has no test "${title}".`);
  }
  return [...elsewhere];
}

function render(all: readonly Requirement[]): string {
  const chapters = Map.groupBy(all, ({ chapter }) => chapter);
  const sections = [...chapters].map(([chapter, rows]) => {
    const lines = rows.map(
      ({ sentence, file }) => `| ${sentence} | [${file.slice('test/'.length)}](../${file}) |`,
    );
    return `## ${chapter}\n\n| Requirement | Test |\n| --- | --- |\n${lines.join('\n')}\n`;
  });
  return `# Conformance

Made from the titles of the conformance suite by \`scripts/generate-conformance.ts\`; do not edit.

Each requirement of the specification, and the test that shows it against the real service over a socket. Run them with
\`node --test "test/conformance/*.test.ts"\`.

${sections.join('\n')}`;
}
