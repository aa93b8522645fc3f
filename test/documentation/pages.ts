// The Markdown pages that people read, and the code blocks in them.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/repository.ts';

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface CodeBlock {
  readonly path: string;
  readonly language: string;
  /** Of the first line of code; the first line of the page is 1. */
  readonly line: number;
  readonly code: string;
}

export const pages: readonly Page[] = globSync('{*,docs/*,examples/*}.md', { cwd: root })
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

export const codeBlocks: readonly CodeBlock[] = pages.flatMap(({ path, text }) =>
  Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms), ({ 1: language = '', 2: code = '', index }) => ({
    path,
    language,
    line: text.slice(0, index).split('\n').length + 1,
    code,
  })),
);

/** The code of a page's blocks in one language. */
export const blocksOf = (path: string, language: string): readonly string[] =>
  codeBlocks.filter((block) => block.path === path && block.language === language).map(({ code }) => code);
