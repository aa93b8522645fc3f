// Which declarations of types belong into the package: those of its entries, and what they are made of.
import { glob, readFile, rm } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/** Of a module that is named beside the file: `from './x.ts'`, `import('./x.ts')`. */
const relativeImport = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/**
 * Deletes the declarations that no entry leads to: they would only take room.
 *
 * @param dist absolute path of the built tree
 * @param entries relative to it
 */
export async function removeOtherTypes(dist: string, entries: readonly string[]): Promise<void> {
  const needed = new Set(entries.map(normalize));
  for (const file of needed) {
    const text = await readFile(join(dist, file), 'utf8');
    for (const [, module = ''] of text.matchAll(relativeImport))
      needed.add(normalize(join(dirname(file), toDeclaration(module))));
  }
  for await (const file of glob('**/*.d.{ts,cts}', { cwd: dist }))
    if (!needed.has(file)) await rm(join(dist, file));
}

const toDeclaration = (module: string): string => module.replace(/\.(c?)[jt]s$/, '.d.$1ts');
