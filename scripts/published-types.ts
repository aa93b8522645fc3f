// The declarations of types that belong into the package: those of its entries, and what they are made of. The code is CommonJS, and
// so are they; the entries for `import` pass theirs on.
import { glob, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';

/** Of a module that is named beside the file: `from './x.ts'`, `import('./x.ts')`. */
const relativeImport = /(\b(?:from|import)\s*\(?\s*['"])(\.[^'"]+)\.c?[jt]s(?=['"])/g;

/**
 * Keeps the declarations that an entry leads to, as those of CommonJS modules, and adds those of the entries for `import`.
 *
 * @param dist absolute path of the built tree
 * @param entries relative to it, without an ending
 * @param scripts the same of scripts, which export nothing
 */
export async function publishTypes(
  dist: string,
  entries: readonly string[],
  scripts: readonly string[],
): Promise<void> {
  const needed = new Set(entries.map(normalize));
  const texts = new Map<string, string>();
  for (const name of needed) {
    const text = await readFile(join(dist, `${name}.d.ts`), 'utf8');
    for (const [, , module = ''] of text.matchAll(relativeImport))
      needed.add(normalize(join(dirname(name), module)));
    texts.set(name, text.replaceAll(relativeImport, '$1$2.cjs'));
  }
  for await (const file of glob('**/*.d.{ts,cts}', { cwd: dist })) await rm(join(dist, file));
  for (const [name, text] of texts) await writeFile(join(dist, `${name}.d.cts`), text);
  for (const name of scripts) await writeFile(join(dist, `${name}.d.ts`), 'export {};\n');
  for (const name of entries) {
    const module = `'./${basename(name)}.cjs'`;
    const hasDefault = /^export default\b/m.test(texts.get(normalize(name))!);
    const text = `export * from ${module};\n${hasDefault ? `export { default } from ${module};\n` : ''}`;
    await writeFile(join(dist, `${name}.d.ts`), text);
  }
}
