// The recipes of docs/operator-api.md, each run as it stands there against a real listener that delivers.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { curl, find, php, python, skipWithout, type Program } from '../../scripts/install-test-tools.ts';
import { codeBlocks, pages } from '../documentation/pages.ts';
import { startStage } from './running-operator.ts';

const path = 'docs/operator-api.md';
const page = pages.find((known) => known.path === path)!.text;
const firstLine = page.slice(0, page.indexOf('\n## Recipes')).split('\n').length;

interface Recipe {
  readonly language: string;
  readonly program: Program;
  readonly words: (code: string) => readonly string[];
  readonly uses?: readonly Program[];
  readonly prints: RegExp;
}

const recipes: readonly Recipe[] = [
  {
    language: 'sh',
    program: { names: ['sh'], debianPackage: 'dash' },
    words: (code) => ['-c', code],
    uses: [curl],
    prints: /"outcome":"accepted".*"state":"running".*event: done.*"user":"42".*\{"items":\[/s,
  },
  {
    language: 'python',
    program: python,
    words: (code) => ['-c', code],
    prints: /^1 accepted\n1 running 1\n1 \['beta', 'news'\]\n2 \[\]\n$/,
  },
  {
    language: 'php',
    program: php,
    words: (code) => ['-r', code.replace(/^<\?php\n/, '')],
    prints: /^1 accepted\n1 running 2\n/,
  },
];

suite('the recipes of docs/operator-api.md', () => {
  for (const { language, program, words, uses = [], prints } of recipes) {
    const skip = skipWithout(`the recipe for ${language}`, [program, ...uses]);
    test(language, { skip }, async (t) => {
      const { code } = codeBlocks.find(
        (block) => block.path === path && block.language === language && block.line > firstLine,
      )!;
      const stage = await startStage(t, [{ user: '42', tags: ['news', 'beta'] }, {}]);
      const stop = new AbortController();
      const delivery = stage.sender.work(stop.signal);
      t.after(async () => {
        stop.abort();
        await delivery;
      });
      const env = { ...process.env, API: stage.base, TOKEN: await stage.add(language, 'full') };
      const { stdout } = await promisify(execFile)(find(program)!, words(code), { env });
      assert.match(stdout, prints);
    });
  }
});
