// Files of the browser's side, from `src/client/` or, once built, `dist/client/`. Scripts of the source are bundled when
// they are first asked for, as scripts/bundle.ts does it for the package.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, extname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const clientFolder = new URL('../client/', import.meta.url);
const isRunFromSource = import.meta.url.endsWith('.ts');

export interface ClientFile {
  readonly contentType: string;
  read(): Promise<string | Buffer>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

/** @param file as for `readClientFile` */
export function clientFile(file: string): ClientFile {
  const ending = extname(file);
  const read = ending === '.css' ? readStyle : ending === '.png' ? readImage : readClientFile;
  return { contentType: contentTypes[ending]!, read: () => read(file) };
}

/** The style of a page, after what all pages share. */
async function readStyle(file: string): Promise<string> {
  return (await readClientFile('base.css')) + (await readClientFile(file));
}

/** @param file path in the client's folder, with `.js` for scripts */
export async function readClientFile(file: string): Promise<string> {
  const url = new URL(file, clientFolder);
  return isRunFromSource && file.endsWith('.js') ? bundleScript(url) : readFile(url, 'utf8');
}

const readImage = (file: string): Promise<Buffer> => readFile(new URL(file, clientFolder));

/** Scripts that a page loads by themselves: others import them from there, so that a page has one of each. */
const sharedScripts = ['index', 'subscribe', 'subscribe/languages'];

/**
 * A script with all that it imports, but those. The service worker becomes a classic script: every browser with Web Push can run it,
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
    // React
    packages: 'external',
    plugins: [
      {
        name: 'shared scripts',
        setup: ({ onResolve }) =>
          onResolve({ filter: /\.ts$/ }, ({ path: imported, importer, kind }) => {
            const target = resolve(dirname(importer), imported);
            const isShared = sharedScripts.some(
              (name) => target === fileURLToPath(new URL(`${name}.ts`, clientFolder)),
            );
            if (kind === 'entry-point' || !isShared) return undefined;
            const address = relative(dirname(path), target)
              .replace(/\.ts$/, '.js')
              .replace(/^(?!\.)/, './');
            return { path: address, external: true };
          }),
      },
    ],
    write: false,
  });
  return outputFiles[0]!.text;
}
