// Every link of the documentation to a file, and to a heading in one, leads somewhere; pages and cells of tables are short.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { anchorOf } from '../../scripts/write-page.ts';
import { pages, root } from './pages.ts';

interface Link {
  readonly path: string;
  readonly target: string;
}

const links: readonly Link[] = pages.flatMap(({ path, text }) =>
  Array.from(withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => ({
    path,
    target: target!,
  })).filter(({ target }) => !/^[a-z]+:/.test(target)),
);

test('every link inside the repository leads somewhere', () => {
  assert.deepEqual(
    links.filter(({ path, target }) => !leadsSomewhere(path, target)),
    [],
  );
});

test('every link of a page in the package leads to a file in the package', () => {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  // npm adds these by itself.
  const packed = [...files, 'README.md', 'LICENSE', 'package.json'];
  const isPacked = (path: string) => packed.some((each) => path === each || path.startsWith(`${each}/`));
  const leaving = links.filter(({ path, target }) => isPacked(path) && !isPacked(fileOf({ path, target })));
  assert.deepEqual(leaving, []);
});

function fileOf({ path, target }: Link): string {
  const [file = ''] = target.split('#');
  return file === '' ? path : normalize(join(dirname(path), file));
}

function leadsSomewhere(from: string, target: string): boolean {
  const [, anchor] = target.split('#');
  const path = fileOf({ path: from, target });
  if (path.startsWith('..') || !existsSync(join(root, path))) return false;
  return anchor === undefined || anchorsOf(readFileSync(join(root, path), 'utf8')).has(anchor);
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = withoutCode(text).matchAll(/^#+ (.+)$/gm);
  return new Set(Array.from(headings, ([, heading]) => anchorOf(heading!)));
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, '');
}

test('the index of the documentation has every page, once', () => {
  const index = pages.find(({ path }) => path === 'docs/README.md')!.text;
  const listed = Array.from(index.matchAll(/\]\(([\w-]+\.md)\)/g), ([, file]) => `docs/${file}`);
  const others = pages.map(({ path }) => path).filter((path) => /^docs\/(?!README)/.test(path));
  assert.deepEqual(listed.sort(), others.sort());
});

/** Made from the code, to look things up in. */
const reference = /^docs\/(?:commands|library)\.md$/;

test('no page has more than 200 lines, except those of reference', () => {
  const long = pages.filter(({ path, text }) => !reference.test(path) && text.split('\n').length > 201);
  assert.deepEqual(
    long.map(({ path }) => path),
    [],
  );
});

test('no cell of a table has more than 200 characters', () => {
  const long = pages.flatMap(({ path, text }) =>
    Array.from(withoutCode(text).matchAll(/^\|(.*)\|$/gm), ([, row]) => row!.split(/(?<!\\)\|/))
      .flat()
      .filter((cell) => cell.trim().length > 200)
      .map((cell) => `${path}: ${cell.trim()}`),
  );
  assert.deepEqual(long, []);
});
