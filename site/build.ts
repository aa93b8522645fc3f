// Builds the site into site/dist, or the folder that is named: writes its pages into site/pages, then lets VitePress build them.
// A link to a page, or to an export, that does not exist is an error.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { build } from 'vitepress';
import { exportsOf, linkNames } from './library.ts';
import { readNavigation, readPages, root } from './sources.ts';
import { toSite } from './to-site.ts';

const here = import.meta.dirname;
const folder = join(here, 'pages');
const target = resolve(process.argv[2] ?? join(here, 'dist'));

rmSync(folder, { recursive: true, force: true });
const pages = await readPages();
for (const page of pages) {
  const file = join(folder, page.path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, toSite(page, pages) + linkNames(page, pages));
}
const pictures = 'docs/images';
cpSync(join(root, pictures), join(folder, 'images'), { recursive: true });
cpSync(join(root, 'src/client/demo/icon.svg'), join(folder, 'public/icon.svg'));
const sidebars = { ...exportsOf(pages), '/': readNavigation(pages) };
writeFileSync(join(folder, 'sidebars.json'), JSON.stringify(sidebars));

await build(here, { outDir: target });
console.log(`${pages.length} pages in ${target}. Serve the folder with any web server.`);
