// Bundles src/ for dist/: Node takes about half a millisecond to find and load a module, and a delivering thread needs 150. What
// several entries share stands once, in chunks, so that a class is the same one wherever it is imported from. All code is
// CommonJS, which every tool can load; the entry for `import` is an ES module that exports what it has of the CommonJS one.
// Every entry first checks the version of Node.
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { build, transform, type Plugin } from 'esbuild';
import { bundleScript, clientFileBytes } from '../src/http/client-folder.ts';
import { bundledPackages, readExternalPackages, readModuleEntries, root } from './repository.ts';

const source = join(root, 'src');

/** Modules that are started by their file, beside what package.json exports; all by their paths in src/. */
const startedByFile = [
  'cli/run-process',
  // needed before run-process is loaded
  'accelerator/cache-folder',
  'delivery/worker/worker-thread',
  // read to tell one version of the check from another: they name the chunks they are made of by hashes
  'accelerator/checking-child',
  'accelerator/self-check',
  'accelerator/addon',
];

/** What a server sends to browsers, in src/client/; scripts end in `.js`. */
const clientFiles = [
  'base.css',
  'console/console.css',
  'console/console.js',
  'demo/demo.css',
  'demo/demo.js',
  'demo/icon.png',
  'demo/icon.svg',
  'demo/index.html',
  'demo/manifest.webmanifest',
  'docs/docs.css',
  'docs/docs.js',
  'index.js',
  'preferences/index.html',
  'preferences/preferences.css',
  'preferences/preferences.js',
  'service-worker.js',
  'subscribe.js',
  'subscribe/languages.js',
];

/** @param to the folder that becomes dist/ */
export async function bundle(to: string): Promise<void> {
  await Promise.all([
    bundleModules(to),
    compileScript(to, 'require-node'),
    compileScript(to, 'cli/main'),
    bundleClient(to),
  ]);
}

async function bundleModules(to: string): Promise<void> {
  const exported = readModuleEntries().filter((name) => !isForBrowsers(name));
  const { outputFiles, metafile } = await build({
    entryPoints: [
      ...exported.map((name) => ({ in: join(source, `${name}.ts`), out: `chunks/${name}` })),
      ...startedByFile.map((name) => ({ in: join(source, `${name}.ts`), out: name })),
    ],
    bundle: true,
    splitting: true,
    format: 'esm',
    charset: 'utf8',
    platform: 'node',
    target: 'node24',
    supported: { 'top-level-await': false },
    external: [...readExternalPackages()],
    outdir: to,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [filesOfThePackage],
    metafile: true,
    write: false,
  });
  checkPackages(Object.keys(metafile.inputs));
  for (const { path, text } of outputFiles) {
    const code = toCommonJs(text, (file) => relative(dirname(path), join(to, file)));
    await write(path.replace(/\.js$/, '.cjs'), code);
  }
  for (const name of exported) {
    const { exports: names } = metafile.outputs[relative('.', join(to, `chunks/${name}.js`))]!;
    await writeEntries(to, name, names);
  }
}

/** @throws {Error} a package became part of the code that is not meant to, and whose licence is not published */
function checkPackages(inputs: readonly string[]): void {
  const dependencies = bundledPackages.map((name) => {
    const text = readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8');
    return (JSON.parse(text) as { readonly dependencies?: object }).dependencies ?? {};
  });
  const known = new Set([...bundledPackages, ...dependencies.flatMap(Object.keys)]);
  for (const path of inputs) {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
    if (name !== undefined && !known.has(name))
      throw new Error(`${name} is neither loaded nor meant to be bundled.`);
  }
}

/**
 * Turns one of esbuild's ES modules into CommonJS. What it exports are plain properties, which tests can replace, and what it imports
 * are its own constants: `src/` exports no variable that changes, and has no circle of imports.
 *
 * Modules of Node are looked up by the code, since a bundle in the form of an ES module has no `require`.
 *
 * @param pathTo the path from the module to a file of the package, which is given relative to dist/
 */
function toCommonJs(text: string, pathTo: (file: string) => string): string {
  const imports: string[] = [];
  const exports: string[] = [];
  const body = text
    .replaceAll(
      /^import (?:([^"';]+) from )?("[^"\n]+");\n/gm,
      (_, names: string | undefined, module: string) => {
        imports.push(...toRequire(names, module));
        return '';
      },
    )
    .replaceAll(
      /\bimport\(("[^"\n]+")\)/g,
      (_, module: string) => `Promise.resolve().then(() => ${load(module)})`,
    )
    .replaceAll(/^export \{([^}]*)\};\n/gm, (_, names: string) => {
      const renamed = names.trim().replaceAll(/([\w$]+) as ([\w$]+)/g, '$2: $1');
      const [, byDefault] = /\bdefault: ([\w$]+)/.exec(renamed) ?? [];
      exports.push(`module.exports = ${byDefault ?? `{ ${renamed.replaceAll(/\s+/g, ' ')} }`};\n`);
      return '';
    })
    // a package that is CommonJS
    .replaceAll(/^export default (.+);\n/gm, 'module.exports = $1;\n')
    .replaceAll(/\bfileOfPackage\("([^"]+)"\)/g, (_, file: string) => {
      const path = pathTo(file);
      // tools that copy the files in use find them by these calls, which are never made; a bundle that is an ES module has no `__dirname`
      const call = file.endsWith('.cjs')
        ? `() => require(${JSON.stringify(path)})`
        : `(name) => require("node:fs").readFileSync(__dirname + ${JSON.stringify(`/${path}/`)} + name)`;
      return `((_) => { try { return __dirname + ${JSON.stringify(`/${path}`)}; } catch { return ""; } })(${call})`;
    })
    .replaceAll(/\brequireHere\(/g, 'require(');
  if (/^(?:import|export)\b|\bimport\.meta\b|\bimport\(/m.test(body))
    throw new Error('A module is imported or exported in a form unknown here.');
  return `"use strict";\n${imports.join('')}${body}${exports.join('')}`;
}

/** @param names what stands between `import` and `from` */
function toRequire(names: string | undefined, module: string): readonly string[] {
  // only for the order of what modules do as they are loaded, which is nothing
  if (names === undefined) return [];
  const [, whole, members] = /^(?:(?:\* as )?([\w$]+))?(?:, )?(?:\{([^}]*)\})?$/.exec(names)!;
  return [
    ...(whole === undefined ? [] : [`const ${whole} = ${load(module)};\n`]),
    ...(members === undefined ? [] : [`const {${members.replaceAll(' as ', ': ')}} = ${load(module)};\n`]),
  ];
}

function load(module: string): string {
  if (module.startsWith('"node:')) return `globalThis.process.getBuiltinModule(${module})`;
  return `require(${module.replace(/^("\..*)\.js"$/, '$1.cjs"')})`;
}

/**
 * Files are found by the paths that stand in the source, relative to the module, which may end up in any chunk. Those that are read
 * become part of the code.
 */
const filesOfThePackage: Plugin = {
  name: 'files of the package',
  setup({ onLoad }) {
    onLoad({ filter: /node_modules.*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return {
        contents: text.replaceAll(/\brequire\(['"](node:[^'"]+)['"]\)/g, (_, module: string) =>
          load(`"${module}"`),
        ),
      };
    });
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (path === join(source, 'http/client-folder.ts')) return { contents: await clientFilesAsCode() };
      const text = await readFile(path, 'utf8');
      const contents = text
        .replaceAll(/readFileSync\(new URL\('([^']+)', import\.meta\.url\), 'utf8'\)/g, (_, file: string) =>
          JSON.stringify(readFileSync(join(dirname(path), file), 'utf8')),
        )
        .replaceAll(/fileURLToPath\(new URL\('([^']+)', import\.meta\.url\)\)/g, (_, file: string) => {
          const fromDist = relative(source, join(dirname(path), file)).replace(/\.ts$/, '.cjs');
          return `fileOfPackage(${JSON.stringify(fromDist)})`;
        })
        .replaceAll(/createRequire\(import\.meta\.url\)\('([^']+)'\)/g, 'requireHere("$1")');
      return { contents, loader: 'ts' };
    });
  },
};

async function clientFilesAsCode(): Promise<string> {
  const members = clientFiles.map(
    async (file) => `${JSON.stringify(file)}: "${(await clientFileBytes(file)).toString('base64')}",\n`,
  );
  return `const files = {\n${(await Promise.all(members)).join('')}};
export const clientFileBytes = async (file) => Buffer.from(files[file], 'base64');
`;
}

/** For `require`, which old versions of Node can do as well, and for `import`. */
async function writeEntries(to: string, name: string, exports: readonly string[]): Promise<void> {
  const up = '../'.repeat(name.split('/').length - 1) || './';
  const names = exports.filter((exported) => exported !== 'default');
  const required = [
    `require('${up}require-node.cjs');`,
    `module.exports = require('${up}chunks/${name}.cjs');`,
  ];
  const imported = [
    `import entry from './${basename(name)}.cjs';`,
    `export const { ${names.join(', ')} } = entry;`,
  ];
  if (names.length < exports.length) {
    // what compilers to CommonJS look for
    required.push("Object.defineProperty(module.exports, 'default', { value: module.exports });");
    imported.push('export default entry;');
  }
  await write(join(to, `${name}.cjs`), `${required.join('\n')}\n`);
  await write(join(to, `${name}.js`), `${imported.join('\n')}\n`);
}

const isForBrowsers = (name: string): boolean => name.startsWith('client/');

/** Each file by itself: most pages load one. */
async function bundleClient(to: string): Promise<void> {
  await write(join(to, 'client/service-worker.js'), await bundleScript('service-worker.js'));
  for (const name of [...readModuleEntries().filter(isForBrowsers), 'client/subscribe/languages']) {
    const script = `${relative('client', name)}.js`;
    await write(join(to, `${name}.js`), await bundleScript(script));
    await write(join(to, `${name}.cjs`), await bundleScript(script, 'cjs'));
  }
}

/** CommonJS in syntax that old versions of Node know. */
async function compileScript(to: string, name: string): Promise<void> {
  const text = await readFile(join(source, `${name}.cts`), 'utf8');
  const { code } = await transform(text, { loader: 'ts', target: 'es2019' });
  await write(join(to, `${name}.cjs`), code.replaceAll(/(["'][./\w-]+\.)c?ts(?=["'])/g, '$1cjs'));
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
