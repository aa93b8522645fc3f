// Bundles src/ for dist/: Node takes about half a millisecond to find and load a module, and a delivering thread needs 150. What
// several entries share stands once, in chunks, so that a class is the same one wherever it is imported from. Every entry first
// checks the version of Node, and nothing that an older Node lacks keeps the files from being loaded so far.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, transform, type Plugin } from 'esbuild';
import { bundleScript } from '../src/http/client-assets.ts';
import { readPackageEntries, root } from './repository.ts';

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
const clientScripts = [
  'index.js',
  'react.js',
  'service-worker.js',
  'subscribe.js',
  'subscribe/languages.js',
  'console/console.js',
  'demo/demo.js',
  'docs/docs.js',
  'preferences/preferences.js',
];

/** @param to the folder that becomes dist/ */
export async function bundle(to: string): Promise<void> {
  await Promise.all([
    bundleModules(to),
    compileScript(to, 'require-node'),
    compileScript(to, 'cli/main'),
    compileScript(to, 'cli/compiled-code'),
    ...clientScripts.map((file) => bundleClient(to, file)),
  ]);
}

async function bundleModules(to: string): Promise<void> {
  const exported = exportedModules();
  const { outputFiles } = await build({
    entryPoints: [...exported, ...loadedByUrl].map((name) => join(source, `${name}.ts`)),
    bundle: true,
    splitting: true,
    format: 'esm',
    charset: 'utf8',
    platform: 'node',
    // Older versions of Node read the files up to the check of their version.
    target: 'node16.20',
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
    const code = loadBuiltinsLate(text.replaceAll(/urlOfModule\("([^"]+)"\)/g, urlFromHere));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, code);
  }
  await Promise.all(exported.map((name) => checkNodeFirst(to, name)));
}

/**
 * Where a file imports a module of Node, or a name, that this Node does not have, it fails before any code runs. So they
 * are looked up by the code instead.
 */
function loadBuiltinsLate(text: string): string {
  const lookUps: string[] = [];
  const rest = text.replaceAll(
    /^import (?:(?:\* as )?([\w$]+))?(?:, )?(?:\{([^}]*)\})? from ("node:[^"]+");\n/gm,
    (_, whole: string | undefined, names: string | undefined, module: string) => {
      const builtin = `globalThis.process.getBuiltinModule(${module})`;
      if (whole !== undefined) lookUps.push(`const ${whole} = ${builtin};\n`);
      if (names !== undefined) lookUps.push(`const {${names.replaceAll(' as ', ': ')}} = ${builtin};\n`);
      return '';
    },
  );
  if (/^(?:import|export)\b.*"node:/m.test(rest))
    throw new Error('A module of Node is imported in a form unknown here.');
  return lookUps.join('') + rest;
}

/** The same entry for `import`, and as CommonJS, since `require` of old versions of Node loads nothing else. */
async function checkNodeFirst(to: string, name: string): Promise<void> {
  const entry = join(to, `${name}.js`);
  const check = relative(dirname(entry), join(to, 'require-node.cjs')).replace(/^(?!\.)/, './');
  await writeFile(entry, `import '${check}';\n${await readFile(entry, 'utf8')}`);
  const required = `require('${check}');\nmodule.exports = require('./${basename(entry)}');\n`;
  await writeFile(join(to, `${name}.cjs`), required);
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
function exportedModules(): readonly string[] {
  return Object.values(readPackageEntries()).flatMap((entry) => {
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

/** CommonJS in syntax that old versions of Node know. */
async function compileScript(to: string, name: string): Promise<void> {
  const text = await readFile(join(source, `${name}.cts`), 'utf8');
  const { code } = await transform(text, { loader: 'ts', target: 'es2019' });
  const file = join(to, `${name}.cjs`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, code.replaceAll(/(["'][./\w-]+\.c?)ts(?=["'])/g, '$1js'));
}
