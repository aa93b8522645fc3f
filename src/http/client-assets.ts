// Files of the browser's side, from `src/client/` or, once built, `dist/client/`. Scripts of the source are bundled when
// they are first asked for, as scripts/bundle.ts does it for the package.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const clientFolder = new URL('../client/', import.meta.url);
const isRunFromSource = import.meta.url.endsWith('.ts');

/** The style of a page, after what all pages share. */
export async function readStyle(file: string): Promise<string> {
  return (await readClientFile('base.css')) + (await readClientFile(file));
}

/** @param file path in the client's folder, with `.js` for scripts */
export async function readClientFile(file: string): Promise<string> {
  const url = new URL(file, clientFolder);
  return isRunFromSource && file.endsWith('.js') ? bundleScript(url) : readFile(url, 'utf8');
}

export function readImage(file: string): Promise<Buffer> {
  return readFile(new URL(file, clientFolder));
}

/**
 * A script with all that it imports. The service worker becomes a classic script: every browser with Web Push can run it,
 * and `importScripts()` can pull it into another one.
 *
 * @param url of its source, but with `.js`
 */
export async function bundleScript(url: URL): Promise<string> {
  // bundlers of applications look for what is imported, and the package does without
  const { build } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild');
  const path = fileURLToPath(url).replace(/\.js$/, '.ts');
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    format: path.endsWith('service-worker.ts') ? 'iife' : 'esm',
    minify: true,
    charset: 'utf8',
    target: 'es2023',
    write: false,
  });
  return outputFiles[0]!.text;
}
