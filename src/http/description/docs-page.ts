// GET /docs: the description document as a page to read and try. It loads nothing from another host.
import type { ServiceApp } from '../service-app.ts';
import { serveFile, serveFiles } from './served-file.ts';
import { renderOperation, renderText } from './docs-operation.ts';
import { html, htmlText, type Html } from './html.ts';
import type { OpenApiDocument, OperationObject } from './openapi-document.ts';

const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const files = [
  ['/docs/docs.js', 'docs/docs.js', 'getDocsScript'],
  ['/docs/docs.css', 'docs/docs.css', 'getDocsStyle'],
  ['/docs/icon.svg', 'demo/icon.svg', 'getDocsIcon'],
] as const;

/** @param document called at the first request, when all routes have been added */
export function addDocsPage(app: ServiceApp, document: () => OpenApiDocument): void {
  serveFile(app, '/docs', {
    operationId: 'getDocsPage',
    tag: 'Service',
    summary: 'This description as a page',
    contentType: 'text/html; charset=utf-8',
    contentSecurityPolicy,
    read: async () => renderPage(document()),
    // Addresses in the page are relative to its folder, which is one level up.
    otherSpelling: { path: '/docs/', location: '../docs' },
  });
  serveFiles(app, files, { tag: filesTag, summary: 'A file of the page /docs', contentSecurityPolicy });
}

/** Operations with this tag serve files; the page lists only their paths. */
const filesTag = 'Files';

type Tag = OpenApiDocument['tags'][number];

const isOfOperations = ({ name }: Tag): boolean => name !== filesTag;

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
          <h1>${info.title}</h1>
          ${renderText(info.description)}
          <p>
            The same for programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1). This description has
            the version ${info.version}.
          </p>
        </header>
        <div class="columns">
          <nav aria-label="Operations">
            ${tags.filter(isOfOperations).map(({ name }) => renderIndex(name, entriesOf(name, entries)))}
          </nav>
          <main>
            ${tags.map((tag) => {
              const render = isOfOperations(tag) ? renderOperations : renderFiles;
              return renderGroup(tag, render(entriesOf(tag.name, entries)));
            })}
          </main>
        </div>
      </body>
    </html> `;
  return htmlText(page);
}

const entriesOf = (tag: string, entries: readonly Entry[]): readonly Entry[] =>
  entries.filter(({ operation }) => operation.tags.includes(tag));

function renderIndex(name: string, entries: readonly Entry[]): Html {
  const links = entries.map(
    ({ method, path, operation: { operationId } }) =>
      html`<li>
        <a href="#${operationId}"
          ><span class="method ${method}">${method.toUpperCase()}</span> <span>${path}</span></a
        >
      </li>`,
  );
  return html`<h2 class="quiet">${name}</h2>
    <ul>
      ${links}
    </ul>`;
}

function renderGroup({ name, description }: Tag, content: Html): Html {
  return html`<section>
    <h3>${name}</h3>
    <p class="quiet">${description}</p>
    ${content}
  </section>`;
}

const renderOperations = (entries: readonly Entry[]): Html =>
  html`${entries.map(({ method, path, operation }) => renderOperation(method, path, operation))}`;

const renderFiles = (entries: readonly Entry[]): Html => {
  const items = entries.map(
    ({ path, operation }) =>
      html`<li>
        <a href=".${path}"><code>${path}</code></a> <span class="quiet">${operation.summary}</span>
      </li>`,
  );
  return html`<ul>
    ${items}
  </ul>`;
};
