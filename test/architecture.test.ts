// Holds the imports against the table in docs/architecture.md: the table is the rule, this file only reads it.
import assert from 'node:assert/strict';
import { globSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '..');
const source = join(root, 'src');

/** Which modules each may import. */
function readTable(): Map<string, ReadonlySet<string> | 'all'> {
  const rows = readFileSync(join(root, 'docs/architecture.md'), 'utf8').matchAll(
    /^\| `([\w-]+)\/` \| [^|]* \| ([^|]*) \|$/gm,
  );
  return new Map(
    Array.from(rows, ([, folder, allowed]) => {
      const names = Array.from(allowed!.matchAll(/`([\w-]+)`/g), ([, name]) => name!);
      return [folder!, allowed!.startsWith('all') ? 'all' : new Set(names)];
    }),
  );
}

/** `to` is the file that is imported; undefined for a package. */
function readImports() {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(source, file), 'utf8');
    const specifiers = text.matchAll(
      /^(?:import|export)\s(?:[^'"=(]*?\sfrom\s)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm,
    );
    return Array.from(specifiers, ([, fixed, dynamic]) => {
      const specifier = (fixed ?? dynamic)!;
      const path = resolve(source, dirname(file), specifier);
      return { file, specifier, to: specifier.startsWith('.') ? relative(source, path) : undefined };
    });
  });
}

const table = readTable();
const imports = readImports();
const moduleOf = (file: string): string => (file.includes(sep) ? file.split(sep)[0]! : '');

test('every folder under src has its row in the table, and every row its folder', () => {
  const folders = readdirSync(source, { withFileTypes: true }).filter((found) => found.isDirectory());
  assert.deepEqual(folders.map((folder) => folder.name).sort(), [...table.keys()].sort());
});

test('modules import only what the table allows', () => {
  const wrong = imports.filter(({ file, to }) => {
    const from = moduleOf(file);
    if (to === undefined || from === '' || from === moduleOf(to)) return false;
    const allowed = table.get(from);
    return allowed !== 'all' && !allowed?.has(moduleOf(to));
  });
  assert.deepEqual(wrong, []);
});

test('no circle of imports, those of types included', () => {
  const importsOf = new Map<string, string[]>();
  for (const { file, to } of imports)
    if (to !== undefined) importsOf.set(file, [...(importsOf.get(file) ?? []), to]);
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    } else if (!done.has(file)) {
      for (const imported of importsOf.get(file) ?? []) visit(imported, [...path, file]);
      done.add(file);
    }
  };
  for (const file of importsOf.keys()) visit(file, []);
  assert.deepEqual(circles, []);
});

test('the protocol imports no package and of Node only node:crypto', () => {
  const wrong = imports.filter(
    ({ file, specifier, to }) =>
      moduleOf(file) === 'protocol' && to === undefined && specifier !== 'node:crypto',
  );
  assert.deepEqual(wrong, []);
});

test('the error catalogue and the browser client import nothing from outside their folder', () => {
  const wrong = imports.filter(
    ({ file, specifier, to }) =>
      ['errors', 'client'].includes(moduleOf(file)) &&
      to === undefined &&
      // React is the application's own.
      !(file === join('client', 'react.ts') && specifier === 'react'),
  );
  assert.deepEqual(wrong, []);
});

test('which database is behind the store is known to the command line and the package entries only', () => {
  const wrong = imports.filter(
    ({ file, specifier }) =>
      !['store', 'cli', ''].includes(moduleOf(file)) && /\/store\/[\w-]+\//.test(specifier),
  );
  assert.deepEqual(wrong, []);
});

const isEntry = (file: string): boolean => /\/index\.ts$|client\/(?:react|subscribe)\.ts$/.test(file);

test('no value is exported that only its own file uses', () => {
  const files = globSync('{src,test,bench,scripts,soak,tools}/**/*.{ts,tsx,cts}', { cwd: root });
  const words = new Map(
    files.map((file) => [file, new Set(readFileSync(join(root, file), 'utf8').match(/[\w$]+/g))]),
  );
  const unused = files
    .filter((file) => file.startsWith('src') && !isEntry(file))
    .flatMap((file) =>
      Array.from(
        readFileSync(join(root, file), 'utf8').matchAll(
          /^export (?:async |abstract )?(?:const|let|function\*?|class) ([\w$]+)/gm,
        ),
        ([, name]) => ({ file, name: name! }),
      ),
    )
    .filter(({ file, name }) => !files.some((other) => other !== file && words.get(other)!.has(name)));
  assert.deepEqual(unused, []);
});

/** Folders that are mounted by one function each and do not know of each other. */
const mounted = ['service/push', 'service/demonstration'];

const partOf = (file: string): string | undefined =>
  /^(\w+[\\/]\w+)[\\/]/.exec(file)?.[1]?.replace('\\', '/');

test('the parts of a listener that are mounted do not know of each other', () => {
  const found = new Set(imports.map(({ file }) => partOf(file)));
  for (const part of mounted) assert(found.has(part), part);
  const wrong = imports.filter(({ file, to = '' }) => {
    const parts = [file, to].map((path) => partOf(path) ?? '');
    return parts[0] !== parts[1] && parts.every((part) => mounted.includes(part));
  });
  assert.deepEqual(wrong, []);
});

const partOfDelivery = (file: string): string => dirname(file).split(sep).slice(0, 2).join('/');

test('the folders of delivery import only those above them in their table', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const order = Array.from(page.matchAll(/^\| `(delivery\/[\w-]+)\/` \|/gm), ([, folder]) => folder!);
  const links = imports
    .map(({ file, to = '' }) => ({ file, to, from: partOfDelivery(file), part: partOfDelivery(to) }))
    .filter(({ file, to }) => moduleOf(file) === 'delivery' && moduleOf(to) === 'delivery');
  const folders = new Set(links.map(({ from }) => from)).difference(new Set(['delivery']));
  assert.deepEqual([...folders].toSorted(), order.toSorted());
  const wrong = links.filter(
    ({ from, part }) =>
      from !== 'delivery' && from !== part && !order.slice(0, order.indexOf(from)).includes(part),
  );
  assert.deepEqual(wrong, []);
});

test('what every listener needs does not know of the description document', () => {
  const wrong = imports.filter(
    ({ file, specifier }) => moduleOf(file) === 'http' && specifier.startsWith('./description/'),
  );
  assert.deepEqual(wrong, []);
});

test('no folder or file is called utils, helpers, common or manager', () => {
  const wrong = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(?:^|[\\/.-])(?:utils?|helpers?|common|managers?)(?:[\\/.-]|$)/.test(path),
  );
  assert.deepEqual(wrong, []);
});
