// Figures that the documentation takes from constants of the code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxUncommittedRows } from '../../src/delivery/worker/worker-settings.ts';
import { pages } from './pages.ts';

test('every page gives the same figure for what a crash repeats, that of the code', () => {
  const paragraphs = pages.flatMap(({ path, text }) =>
    text.split(/\n\n/).map((paragraph) => ({ path, paragraph })),
  );
  const figures = paragraphs
    .filter(({ paragraph }) => /\brepeats?\b|\bsent (?:again|twice)\b/i.test(paragraph))
    .flatMap(({ path, paragraph }) =>
      Array.from(paragraph.matchAll(/(\d[\d,]*)\s(?:messages|rows)\b/g), ([, figure]) => ({ path, figure })),
    )
    .filter(({ path }) => path !== 'CHANGELOG.md');
  const expected = maxUncommittedRows.toLocaleString('en-US');
  assert.deepEqual(
    figures,
    ['docs/architecture.md', 'docs/operations.md', 'docs/sending.md'].map((path) => ({
      path,
      figure: expected,
    })),
  );
});
