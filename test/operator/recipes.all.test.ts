// The recipes of docs/any-language.md, each run as it stands there against a real listener that delivers. The one for TypeScript
// compiles against types that openapi-typescript makes from the description.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { curl, find, php, type Program, python, skipWithout } from '../../scripts/install-test-tools.ts';
import { root } from '../../scripts/repository.ts';
import { codeBlocks, pages } from '../documentation/pages.ts';
import { startStage } from './running-operator.ts';

const run = promisify(execFile);

/** @param document OpenAPI */
async function generateTypes(document: object): Promise<string> {
  // It needs the API of TypeScript 5, which TypeScript 7 does not have.
  const hooks = registerHooks({
    resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context),
  });
  const { default: generate, astToString } = await import('openapi-typescript');
  hooks.deregister();
  return astToString(await generate(structuredClone(document) as Parameters<typeof generate>[0]));
}

test('the recipe for TypeScript compiles under strict against generated types, and runs', async (t) => {
  const { code } = codeBlocks.find((block) => block.code.includes("'./deskbell-api.ts'"))!;
  const stage = await startStage(t, [{ user: '42', tags: ['news'] }, {}]);
  await mkdir(join(root, 'build'), { recursive: true });
  // inside the repository, so that imports of packages resolve
  const folder = await mkdtemp(join(root, 'build/client-'));
  t.after(() => rm(folder, { recursive: true }));
  const document = await stage.read<object>('/openapi.json');
  await writeFile(join(folder, 'deskbell-api.ts'), await generateTypes(document));
  await writeFile(join(folder, 'recipe.ts'), code);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    target: 'es2024',
    types: ['node'],
    allowImportingTsExtensions: true,
    noEmit: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', folder, '--pretty', 'false']).catch(
    ({ stdout }: { readonly stdout: string }) => assert.fail(stdout),
  );
  const env = { ...process.env, API: stage.base, TOKEN: await stage.add('client', 'full') };
  const { stdout } = await run(process.execPath, [join(folder, 'recipe.ts')], { env });
  assert.equal(stdout, '1 accepted\n1 running 1\n1 news\n');
});

const path = 'docs/any-language.md';
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

suite('the recipes of docs/any-language.md', () => {
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
      const { stdout } = await run(find(program)!, words(code), { env });
      assert.match(stdout, prints);
    });
  }
});
