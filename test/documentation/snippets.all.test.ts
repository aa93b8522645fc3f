// Every TypeScript and JavaScript block of the documentation compiles by itself under `strict`, against the built package.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { build } from '../../tools/pack.ts';
import { root } from '../../scripts/repository.ts';
import { codeBlocks } from './pages.ts';

/** What imports generated types is compiled where they are made: test/operator/description.test.ts; applications where they are run. */
const isCompiledElsewhere = ({ path, code }: { readonly path: string; readonly code: string }): boolean =>
  code.includes("'./deskbell-api.ts'") || path === 'docs/frameworks.md';

const snippets = codeBlocks
  .filter(({ language }) => ['ts', 'js', 'tsx', 'mjs'].includes(language))
  .filter((block) => !isCompiledElsewhere(block));

test('every snippet compiles under strict', async (t) => {
  assert.ok(snippets.length > 0, 'there are snippets');
  await mkdir(join(root, 'build'), { recursive: true });
  // Inside the repository, so that imports of other packages resolve.
  const folder = await mkdtemp(join(root, 'build/snippets-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const { path, line, code } of snippets) {
    // At the line where it is in the page, so that the compiler's messages name that.
    const file = join(folder, `${path.replaceAll('/', '_')}.${line}.ts`);
    await writeFile(file, '\n'.repeat(line - 1) + code);
  }
  // What the types of Vite say of an imported address.
  await writeFile(
    join(folder, 'vite.d.ts'),
    "declare module '*?url&no-inline' {\n  const url: string;\n  export default url;\n}\n",
  );
  // As in a project that depends on the package: against what is built.
  await build();
  const compilerOptions = {
    strict: true,
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2025', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
    noEmit: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  // threads would each check the libraries' types again
  const words = [tsc, '-p', folder, '--pretty', 'false', '--singleThreaded'];
  await promisify(execFile)(process.execPath, words).catch(({ stdout }: { readonly stdout: string }) =>
    assert.fail(stdout),
  );
});
