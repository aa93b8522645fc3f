// The files of `src/client/`. The package has a module of the same exports in the place of this one: the files are part of its code
// (scripts/bundle.ts).
import { readFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../client/', import.meta.url));

/** @param file path in the folder; scripts, with `.js`, are bundled each time they are asked for */
export async function clientFileBytes(file: string): Promise<Buffer> {
  return file.endsWith('.js') ? Buffer.from(await bundleScript(file)) : readFile(folder + file);
}

/** Scripts that a page loads by themselves: others import them from there, so that a page has one of each. */
const sharedScripts = ['index', 'subscribe', 'subscribe/languages'];

/**
 * A script with all that it imports, but those. The service worker becomes a classic script: every browser with Web Push can run it,
 * and `importScripts()` can pull it into another one.
 *
 * @param file path in the folder, with `.js`
 */
export async function bundleScript(
  file: string,
  format: 'iife' | 'esm' | 'cjs' = file === 'service-worker.js' ? 'iife' : 'esm',
): Promise<string> {
  const { build } = await import('esbuild');
  const path = folder + file.replace(/\.js$/, '.ts');
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    format,
    minify: true,
    charset: 'utf8',
    target: 'es2023',
    // React
    packages: 'external',
    // in CommonJS a script has no address, and needs to be told that of the service
    logOverride: { 'empty-import-meta': 'silent' },
    plugins: [
      {
        name: 'shared scripts',
        setup: ({ onResolve }) =>
          onResolve({ filter: /\.ts$/ }, ({ path: imported, importer, kind }) => {
            const target = resolve(dirname(importer), imported);
            const isShared = sharedScripts.some((name) => target === `${folder}${name}.ts`);
            if (kind === 'entry-point' || !isShared) return undefined;
            const address = relative(dirname(path), target)
              .replace(/\.ts$/, format === 'cjs' ? '.cjs' : '.js')
              .replace(/^(?!\.)/, './');
            return { path: address, external: true };
          }),
      },
    ],
    write: false,
  });
  return outputFiles[0]!.text;
}
