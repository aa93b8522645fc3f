// docs/library.md as pages: one for each entry of the package, which lists what it exports, and one for each export.
import { posix } from 'node:path';
import { anchorOf } from '../scripts/write-page.ts';
import type { NavigationGroup, Page } from './page.ts';

export const librarySource = 'docs/library.md';

/** A page for a name that an entry of the package exports. */
export interface ExportPage extends Page {
  readonly entry: string;
}

const isExport = (page: Page): page is ExportPage => 'entry' in page;

/** @throws {Error} where two exports of an entry would have one file on systems that ignore case */
export function libraryPages(markdown: string): readonly Page[] {
  const [overview = '', ...entries] = markdown.split(/^## /m);
  const pages: Page[] = [makePage('library.html', 'Library', overview)];
  for (const text of entries) {
    const [header = '', ...exports] = text.split(/^### /m);
    const entry = header.trim();
    const described = exports.map((each) => describeExport(entry, each));
    const list = described.map(
      ({ title, path, markdown: own }) => `- [\`${title}\`](/${path})${summaryOf(own)}`,
    );
    const [, about = ''] = new RegExp(`^- \\[\`${entry}\`\\]\\([^)]*\\): (.*)$`, 'm').exec(overview) ?? [];
    const capital = about.charAt(0).toUpperCase() + about.slice(1);
    pages.push(
      makePage(entryPath(entry), entry, `# ${entry}\n\n${capital}\n\n## Exports\n\n${list.join('\n')}`),
      ...described,
    );
  }
  const paths = pages.map(({ path }) => path.toLowerCase());
  const doubled = paths.find((path, at) => paths.indexOf(path) !== at);
  if (doubled !== undefined) throw new Error(`Two exports have the page ${doubled}. Name them differently.`);
  return pages;
}

/** The page that has the anchor of docs/library.md; names that several entries export lead to the first one. */
export function pageOfAnchor(anchor: string, pages: readonly Page[]): Page | undefined {
  return pages
    .filter(({ source }) => source === librarySource)
    .find(({ title }) => anchorOf(title) === anchor);
}

/** Pages of the exports that code on this page can name: those of its own entry first. */
export function namesFor(from: Page, pages: readonly Page[]): ReadonlyMap<string, string> {
  const exports = pages.filter(isExport);
  const own = exports.filter(({ entry }) => isExport(from) && entry === from.entry);
  return new Map(
    [...exports.toReversed(), ...own]
      .filter(({ path }) => path !== from.path)
      .map(({ title, path }) => [title, path]),
  );
}

/** On a page of the library the other exports of the same entry are one click away. */
export function exportsBeside(from: Page, pages: readonly Page[]): readonly NavigationGroup[] {
  if (!isExport(from)) return [];
  const links = pages.filter((page) => isExport(page) && page.entry === from.entry);
  return [{ title: from.entry, links: [{ title: 'All exports', path: entryPath(from.entry) }, ...links] }];
}

const entryPath = (entry: string): string => `library/${posix.basename(entry)}.html`;

function describeExport(entry: string, text: string): ExportPage {
  const [name = ''] = text.split('\n');
  const path = `library/${posix.basename(entry)}/${name}.html`;
  const body = text.slice(name.length).trim();
  const from = `Exported by [\`${entry}\`](/${entryPath(entry)}).`;
  return { ...makePage(path, name, `# ${name}\n\n${body}\n\n${from}`), entry };
}

function makePage(path: string, title: string, markdown: string): Page {
  return { path, title, markdown, source: librarySource };
}

/** The first sentence of what is said about an export. */
function summaryOf(markdown: string): string {
  const [, paragraph = ''] = /^# .*\n\n(?!```|- |As \[|Exported by)(.+)$/m.exec(markdown) ?? [];
  const [sentence = ''] = /^.*?\.(?= [A-Z`]|$)/.exec(paragraph) ?? [paragraph];
  return sentence === '' ? '' : `: ${sentence}`;
}
