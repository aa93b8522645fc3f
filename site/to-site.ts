// Markdown of the repository as Markdown of the site: links between files become links between pages.
import { posix } from 'node:path';
import { librarySource, pageOfAnchor } from './library.ts';
import { addressOf, type Page } from './page.ts';

/** Code, which stays as it is, and what is around it. */
const code = /(^(`{3,}).*?^\2`*$|`[^`\n]+`)/gms;

/** @throws {Error} if a link leads nowhere */
export function toSite(page: Page, pages: readonly Page[]): string {
  return page.markdown
    .replaceAll(/^<!-- .*? -->\n+/gms, '')
    .split(code)
    .map((part, index) => (index % 3 === 0 ? changeText(part, page, pages) : index % 3 === 1 ? part : ''))
    .join('');
}

function changeText(text: string, page: Page, pages: readonly Page[]): string {
  return (
    text
      .replaceAll(/\]\(([^)\s]+)\)/g, (_link, target: string) => `](${follow(target, page, pages)})`)
      // VitePress would take these for expressions and elements
      .replaceAll('{{', '&#123;&#123;')
      .replaceAll(/<(?!br>|https?:)/g, '&lt;')
  );
}

/** @param target as in the repository, relative to the page's source */
function follow(target: string, page: Page, pages: readonly Page[]): string {
  if (/^(?:[a-z]+:|\/)/.test(target)) return target;
  const [file = '', anchor] = target.split('#');
  const source = file === '' ? page.source : posix.join(posix.dirname(page.source), file).replace(/\/$/, '');
  const fragment = anchor === undefined ? '' : `#${anchor}`;
  if (/\.(?:png|svg)$/.test(source)) return `/${source.replace('docs/', '')}`;
  if (source === librarySource && anchor !== undefined) return addressOf(pageOfAnchor(anchor, pages));
  if (file === '') return fragment;
  const found = pages.find((other) => other.source === source);
  if (found === undefined)
    throw new Error(`${page.source} links to ${target}, which is no page of the site.`);
  return addressOf(found) + fragment;
}
