// Bundles src/ for dist/: Node takes about half a millisecond to find and load a module, and a delivering thread needs 150. What
// several entries share stands once, in chunks, so that a class is the same one wherever it is imported from.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, transform, type Plugin } from 'esbuild';
import { bundleScript } from '../src/http/client-assets.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'src');

/** Modules that are loaded by their URL, beside what package.json exports; all by their paths in src/. */
const loadedByUrl = [
  'cli/run-process',
  'delivery/worker/worker-thread',
  'store/sqlite/open-store',
  'store/postgres/open-store',
  // read to tell one version of the check from another: they name the chunks they are made of by hashes
  'accelerator/checking-child',
  'accelerator/self-check',
  'accelerator/addon',
];

/** What pages load, in src/client/. */
const clientScripts = ['index.js', 'service-worker.js', 'console/console.js', 'demo/demo.js', 'docs/docs.js'];

/** @param to the folder that becomes dist/ */
export async function bundle(to: string): Promise<void> {
  await Promise.all([
    bundleModules(to),
    compileCommand(to),
    ...clientScripts.map((file) => bundleClient(to, file)),
  ]);
}

async function bundleModules(to: string): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: [...(await exportedModules()), ...loadedByUrl].map((name) => join(source, `${name}.ts`)),
    bundle: true,
    splitting: true,
    format: 'esm',
    charset: 'utf8',
    platform: 'node',
    target: 'es2024',
    packages: 'external',
    outbase: source,
    outdir: to,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [keepModuleUrls],
    write: false,
  });
  for (const { path, text } of outputFiles) {
    const urlFromHere = (_: string, module: string): string =>
      `new URL(${JSON.stringify(relative(dirname(path), join(to, module)))}, import.meta.url).href`;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text.replaceAll(/urlOfModule\("([^"]+)"\)/g, urlFromHere));
  }
}

/** A module may end up in any chunk: `import.meta.url` stays what it would be without bundling. */
const keepModuleUrls: Plugin = {
  name: 'keep module URLs',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const module = relative(source, path).replace(/\.ts$/, '.js');
      return { contents: text.replaceAll('import.meta.url', `urlOfModule("${module}")`), loader: 'ts' };
    });
  },
};

/** The entries of the package, but the browser's. */
async function exportedModules(): Promise<string[]> {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  return Object.values(exports).flatMap((entry) => {
    const [, name] =
      /^\.\/dist\/(?!client\/)(.+)\.js$/.exec(typeof entry === 'string' ? entry : entry.default) ?? [];
    return name ?? [];
  });
}

/** Each file by itself: most pages load one. */
async function bundleClient(to: string, file: string): Promise<void> {
  const path = join(to, 'client', file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, await bundleScript(pathToFileURL(join(source, 'client', file))));
}

/** The command's first file is CommonJS in the words that old versions of Node know. */
async function compileCommand(to: string): Promise<void> {
  const text = await readFile(join(source, 'cli/main.cts'), 'utf8');
  const { code } = await transform(text, { loader: 'ts', target: 'es2019' });
  await mkdir(join(to, 'cli'), { recursive: true });
  await writeFile(join(to, 'cli/main.cjs'), code.replace('/run-process.ts', '/run-process.js'));
}
