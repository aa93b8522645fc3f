// Reads the files of `src/client/`. In the package, a module that contains the files replaces this (scripts/bundle.ts).
import { readFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../client/', import.meta.url));

/** @param file the path in the folder. Each call bundles a script (`.js`) again */
export async function clientFileBytes(file: string): Promise<Buffer> {
  return file.endsWith('.js') ? Buffer.from(await bundleScript(file)) : readFile(folder + file);
}

/** Scripts that are not bundled into the scripts that import them, so that a page loads each of them only once. */
const sharedScripts = ['index', 'subscribe', 'subscribe/languages'];

/**
 * Bundles a script with all its imports except the shared scripts. The service worker becomes a classic script, which
 * every browser with Web Push can run and `importScripts()` can include.
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
    packages: 'external',
    // a CommonJS script has no `import.meta.url`, so pages have to give the service's address
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
