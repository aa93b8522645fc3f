// Files of the browser's side, from `src/client/` or, once built, `dist/client/`. Sources are stripped of their types
// when they are first asked for.
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';

const clientFolder = new URL('../client/', import.meta.url);
const isRunFromSource = import.meta.url.endsWith('.ts');

/** The style of a page, after what all pages share. */
export async function readStyle(file: string): Promise<string> {
  return (await readClientFile('base.css')) + (await readClientFile(file));
}

/** @param file path in the client's folder, with `.js` for scripts */
export async function readClientFile(file: string): Promise<string> {
  if (!isRunFromSource || !file.endsWith('.js')) return readFile(new URL(file, clientFolder), 'utf8');
  const source = await readFile(new URL(file.replace(/\.js$/, '.ts'), clientFolder), 'utf8');
  // What the compiler does to `./x.ts` in an import when it builds.
  return stripTypeScriptTypes(source).replaceAll(
    /(\b(?:from|import)\s*\(?\s*['"]\.[^'"]*)\.ts(['"])/g,
    '$1.js$2',
  );
}
