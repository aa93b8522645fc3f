// docs/library.md as pages: one for each entry of the package, which lists what it exports, and one for each export.
import { posix } from 'node:path';
import { anchorOf } from '../scripts/write-page.ts';
import { addressOf, type NavigationGroup, type Page } from './page.ts';

export const librarySource = 'docs/library.md';

/** A page for a name that an entry of the package exports. */
export interface ExportPage extends Page {
  readonly entry: string;
}

const isExport = (page: Page): page is ExportPage => 'entry' in page;

/** @throws {Error} if two exports of an entry would have one file on systems that ignore case */
export function libraryPages(markdown: string): readonly Page[] {
  const [overview = '', ...entries] = markdown.split(/^## /m);
  const pages: Page[] = [makePage('library.md', 'Library', overview)];
  for (const text of entries) {
    const [header = '', ...exports] = text.split(/^### /m);
    const entry = header.trim();
    const described = exports.map((each) => describeExport(entry, each));
    const list = described.map(
      ({ title, path, markdown: own }) => `- [\`${title}\`](${addressOf({ path })})${summaryOf(own)}`,
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

/** @throws {Error} if no page has the anchor of docs/library.md; names that several entries export lead to the first one */
export function pageOfAnchor(anchor: string, pages: readonly Page[]): Page {
  const found = pages
    .filter(({ source }) => source === librarySource)
    .find(({ title }) => anchorOf(title) === anchor);
  if (found === undefined) throw new Error(`${librarySource} has no ${anchor}.`);
  return found;
}

/** Links to the exports that the code on this page names: those of its own entry first. */
export function linkNames(from: Page, pages: readonly Page[]): string {
  if (!isExport(from)) return '';
  const exports = pages.filter(isExport);
  const own = exports.filter(({ entry }) => entry === from.entry);
  const known = new Map([...exports.toReversed(), ...own].map((page) => [page.title, page]));
  const code = Array.from(from.markdown.matchAll(/^```.*?^```$/gms), ([block]) => block).join('\n');
  const named = new Set(code.match(/\w+/g)?.filter((word) => word !== from.title && known.has(word)));
  if (named.size === 0) return '';
  const links = Array.from(named, (name) => `[\`${name}\`](${addressOf(known.get(name)!)})`);
  return `\n\nSee ${links.join(', ')}.\n`;
}

/** The sidebars of the library: on a page of an entry the other exports are one click away. */
export function exportsOf(pages: readonly Page[]): Readonly<Record<string, readonly NavigationGroup[]>> {
  const groups = Map.groupBy(pages.filter(isExport), ({ entry }) => entry);
  return Object.fromEntries(
    Array.from(groups, ([entry, exports]) => {
      const items = exports.map((page) => ({ text: page.title, link: addressOf(page) }));
      const overview = { text: 'All entries', link: '/library' };
      const group = {
        text: entry,
        items: [overview, { text: entry, link: addressOf({ path: entryPath(entry) }) }, ...items],
      };
      return [addressOf({ path: `${entryPath(entry).replace(/\.md$/, '')}/` }), [group]];
    }),
  );
}

const entryPath = (entry: string): string => `library/${posix.basename(entry)}.md`;

function describeExport(entry: string, text: string): ExportPage {
  const [name = ''] = text.split('\n');
  const path = `library/${posix.basename(entry)}/${name}.md`;
  const body = text.slice(name.length).trim();
  const from = `Exported by [\`${entry}\`](${addressOf({ path: entryPath(entry) })}).`;
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
