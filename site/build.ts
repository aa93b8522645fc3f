// Builds the site into site/dist, or the folder that is named: pages, the search index, and what they load. Fails where a link leads nowhere.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findLinkFaults } from './check-links.ts';
import { exportsBeside } from './library.ts';
import { renderFrame } from './page.ts';
import { renderCodeColours, renderMarkdown } from './render-markdown.ts';
import { describeSections, makeSearchIndex } from './search-index.ts';
import { readNavigation, readPages, root } from './sources.ts';

const here = import.meta.dirname;
const target = resolve(process.argv[2] ?? join(here, 'dist'));

const pages = await readPages();
const navigation = readNavigation(pages);
const rendered = pages.map((page) => ({ page, ...renderMarkdown(page, pages) }));

const files = new Map<string, string | Uint8Array>(
  rendered.map(({ page, content, headings, sections }) => {
    const description = (sections[0]?.text ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 160) || page.title;
    const groups = [...exportsBeside(page, pages), ...navigation];
    return [page.path, renderFrame({ page, description, content, headings, navigation: groups })];
  }),
);
for (const path of new Set(rendered.flatMap((page) => page.files)))
  files.set(path, readFileSync(join(root, path)));
for (const name of ['search.js', 'search-options.js', 'site.css'])
  files.set(name, readFileSync(join(here, 'browser', name)));
for (const path of ['base.css', 'demo/icon.svg'])
  files.set(basename(path), readFileSync(join(root, 'src/client', path)));
files.set(
  'minisearch.js',
  readFileSync(fileURLToPath(import.meta.resolve('minisearch')))
    .toString()
    .replace(/^\/\/# sourceMappingURL.*$/m, ''),
);
files.set('code.css', renderCodeColours());
files.set(
  'search-index.json',
  makeSearchIndex(rendered.filter(({ page }) => !page.path.startsWith('files/')).flatMap(describeSections)),
);

const faults = findLinkFaults(files);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);

rmSync(target, { recursive: true, force: true });
for (const [path, content] of files) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  writeFileSync(join(target, path), content);
}
console.log(`${pages.length} pages in ${target}. Serve the folder with any web server.`);
