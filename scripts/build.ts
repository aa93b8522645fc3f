// Builds dist/ from src/ for publishing: JavaScript in few files, types by tsc. The tree is made beside dist/ and takes its place
// in one step, and an equal dist/ is left alone: two builds at the same time, or a test that runs from dist/ meanwhile, do not
// disturb each other.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, glob, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import { publishTypes } from './published-types.ts';
import { readModuleEntries, root } from './repository.ts';

const tsc = join(root, 'node_modules/typescript/bin/tsc');

await build().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});

async function build(): Promise<void> {
  const dist = join(root, 'dist');
  await mkdir(join(root, 'build'), { recursive: true });
  const workspace = await mkdtemp(join(root, 'build/dist-'));
  try {
    const made = join(workspace, 'new');
    const parts = await Promise.allSettled([
      bundle(made),
      compile('tsconfig.build.json', made, '--emitDeclarationOnly'),
      // With comments: editors show those.
      compile('src/client/tsconfig.json', join(made, 'client'), '--emitDeclarationOnly'),
    ]);
    for (const part of parts) if (part.status === 'rejected') throw part.reason;
    await publishTypes(made, readModuleEntries(), ['client/service-worker']);
    await chmod(join(made, 'cli/main.cjs'), 0o755);
    if ((await fingerprint(made)) !== (await fingerprint(dist)))
      await replace(dist, made, join(workspace, 'old'));
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

async function compile(project: string, outDir: string, ...flags: readonly string[]): Promise<void> {
  // two of them run at a time, and threads of one would each check what the others have checked
  const words = [tsc, '-p', join(root, project), '--outDir', outDir, '--singleThreaded', ...flags];
  const compiler = spawn(process.execPath, words, { stdio: 'inherit' });
  const [exitCode] = await once(compiler, 'exit');
  if (exitCode !== 0) throw new Error(`${project} does not compile.`);
}

async function replace(dist: string, made: string, old: string): Promise<void> {
  await rename(dist, old).catch(ignore('ENOENT'));
  // Another build may have put its tree there in between: it was made from the same sources.
  await rename(made, dist).catch(ignore('ENOTEMPTY', 'EEXIST'));
}

/** What a tree holds, in one text; empty if there is none. */
async function fingerprint(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const files: string[] = [];
  for await (const file of glob('**/*.*', { cwd: folder })) files.push(file);
  for (const file of files.sort()) hash.update(`${file}\0`).update(await readFile(join(folder, file)));
  return files.length === 0 ? '' : hash.digest('hex');
}

function ignore(...codes: readonly string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (error.code === undefined || !codes.includes(error.code)) throw error;
  };
}
