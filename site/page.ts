// The pages of the site, and the frame that each of them has: header with search, navigation, the outline of the page.
import { posix } from 'node:path';

/** A page before it is rendered. */
export interface Page {
  /** In the site, such as `library/deskbell/createSender.html`. */
  readonly path: string;
  /** The file of the repository that it is made from; its links are relative to it. */
  readonly source: string;
  readonly title: string;
  readonly markdown: string;
}

export interface NavigationGroup {
  readonly title: string;
  readonly links: readonly { readonly title: string; readonly path: string }[];
}

export interface Heading {
  readonly level: number;
  readonly anchor: string;
  readonly text: string;
}

export interface Frame {
  readonly page: Page;
  readonly description: string;
  readonly content: string;
  readonly headings: readonly Heading[];
  readonly navigation: readonly NavigationGroup[];
}

/** Nothing but the site's own files is ever loaded. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'";

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** The address of a file of the site, relative to a page, so that the site can be at any path of any host. */
export function addressFrom(page: string, path: string): string {
  return posix.relative(posix.dirname(page), path);
}

export function renderFrame({ page, description, content, headings, navigation }: Frame): string {
  const to = (path: string): string => escapeHtml(addressFrom(page.path, path));
  const title = page.path === 'index.html' ? page.title : `${page.title} – Deskbell`;
  const outline = headings.filter(({ level }) => level === 2 || level === 3);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(description)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" type="image/svg+xml" href="${to('icon.svg')}">
<link rel="stylesheet" href="${to('base.css')}">
<link rel="stylesheet" href="${to('site.css')}">
<link rel="stylesheet" href="${to('code.css')}">
<script type="module" src="${to('search.js')}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="brand" href="${to('index.html')}">Deskbell</a>
<search hidden data-site="${to('index.html').replace(/index\.html$/, '')}">
<label for="query">Search the documentation</label>
<input id="query" type="search" placeholder="Search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/">
<p id="found" role="status"></p>
<ol id="results" hidden></ol>
</search>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages">
<details>
<summary>Pages</summary>
${navigation.map((group) => renderGroup(group, page, to)).join('\n')}
</details>
</nav>
<main id="content" tabindex="-1">
${content}
</main>
${outline.length > 1 ? renderOutline(outline) : ''}
</div>
</body>
</html>
`;
}

function renderGroup({ title, links }: NavigationGroup, page: Page, to: (path: string) => string): string {
  const items = links.map(
    (link) =>
      `<li><a href="${to(link.path)}"${link.path === page.path ? ' aria-current="page"' : ''}>${escapeHtml(link.title)}</a></li>`,
  );
  return `<h2>${escapeHtml(title)}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}

function renderOutline(headings: readonly Heading[]): string {
  const items = headings.map(
    ({ level, anchor, text }) =>
      `<li class="level-${level}"><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="outline" aria-labelledby="outline">\n<h2 id="outline">On this page</h2>\n<ul>\n${items.join('\n')}\n</ul>\n</nav>`;
}
