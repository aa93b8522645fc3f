// Every link of the documentation to a file, and to a heading in one, leads somewhere.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { anchorOf } from '../../scripts/write-page.ts';
import { pages, root } from './pages.ts';

test('every link inside the repository leads somewhere', () => {
  const broken = pages.flatMap(({ path, text }) => {
    const targets = Array.from(withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!);
    return targets
      .filter((target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(path, target))
      .map((target) => `${path} links to ${target}`);
  });
  assert.deepEqual(broken, []);
});

function leadsSomewhere(from: string, target: string): boolean {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? from : normalize(join(dirname(from), file));
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
