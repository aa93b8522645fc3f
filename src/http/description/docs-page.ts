// GET /docs: the description document as a page to read and to try, rendered here from the document itself. It loads
// nothing from another host, and its script only sends what a reader asks it to.
import { readClientFile, readStyle } from '../client-assets.ts';
import type { ServiceApp } from '../service-app.ts';
import { serveFile } from './served-file.ts';
import { operationId, renderOperation, renderText } from './docs-operation.ts';
import { html, htmlText, type Html } from './html.ts';
import type { OpenApiDocument, OperationObject } from './openapi-document.ts';

const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** @param document called when the page is first asked for, once all routes are there */
export function addDocsPage(app: ServiceApp, document: () => OpenApiDocument): void {
  const files = [
    ['/docs', 'text/html; charset=utf-8', 'This description as a page', async () => renderPage(document())],
    [
      '/docs/docs.js',
      'text/javascript; charset=utf-8',
      'Script of that page',
      () => readClientFile('docs/docs.js'),
    ],
    ['/docs/docs.css', 'text/css; charset=utf-8', 'Style of that page', () => readStyle('docs/docs.css')],
    ['/docs/icon.svg', 'image/svg+xml', 'Icon of that page', () => readClientFile('demo/icon.svg')],
  ] as const;
  for (const [path, contentType, summary, read] of files) {
    serveFile(app, path, {
      tag: path === '/docs' ? 'Service' : 'Files',
      summary,
      contentType,
      contentSecurityPolicy,
      read,
      // Addresses in the page are relative to its folder, which this path would be one level below.
      otherSpelling: path === '/docs' ? { path: '/docs/', location: '../docs' } : undefined,
    });
  }
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

function renderPage({ info, tags, paths }: OpenApiDocument): string {
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title}: the service described</title>
        <link rel="icon" type="image/svg+xml" href="docs/icon.svg" />
        <link rel="stylesheet" href="docs/docs.css" />
        <script src="docs/docs.js" defer></script>
      </head>
      <body>
        <header>
          <h1>${info.title} <small>${info.version}</small></h1>
          ${renderText(info.description)}
          <p>The same for programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
        </header>
        <div class="columns">
          <nav aria-label="Operations">
            ${tags.map(({ name }) => renderIndex(name, entriesOf(name, entries)))}
          </nav>
          <main>${tags.map((tag) => renderGroup(tag, entriesOf(tag.name, entries)))}</main>
        </div>
      </body>
    </html> `;
  return htmlText(page);
}

const entriesOf = (tag: string, entries: readonly Entry[]): readonly Entry[] =>
  entries.filter(({ operation }) => operation.tags.includes(tag));

function renderIndex(name: string, entries: readonly Entry[]): Html {
  const links = entries.map(
    ({ method, path }) =>
      html`<li>
        <a href="#${operationId(method, path)}"
          ><span class="method ${method}">${method.toUpperCase()}</span> <span>${path}</span></a
        >
      </li>`,
  );
  return html`<h2 class="quiet">${name}</h2>
    <ul>
      ${links}
    </ul>`;
}

function renderGroup(
  { name, description }: { name: string; description: string },
  entries: readonly Entry[],
): Html {
  return html`<section>
    <h3>${name}</h3>
    <p class="quiet">${description}</p>
    ${entries.map(({ method, path, operation }) => renderOperation(method, path, operation))}
  </section>`;
}
