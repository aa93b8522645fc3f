// GET /openapi.json: the description document. GET /docs: the same as a page.
import type { RouteOptions } from 'fastify';
import { represent, type Representation, sendRepresentation } from '../client-files.ts';
import { jsonContentType } from '../json-body.ts';
import { type ServiceApp, Type } from '../schema.ts';
import { html, type Html, htmlText } from './html.ts';
import {
  createOpenApiDocument,
  describeRoutes,
  type Description,
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
} from './openapi-document.ts';
import { contentResponse, type Operation, type ResponseDescription } from './operation.ts';
import { serveFile, serveFiles } from './served-file.ts';

export function addDescriptionRoutes(
  app: ServiceApp,
  routes: readonly RouteOptions[],
  description: Description,
): void {
  const operation: Operation = {
    operationId: 'getDescription',
    tag: 'Service',
    summary: 'This description',
    responses: {
      200: contentResponse('application/json', 'OpenAPI 3.1.', Type.AnyObject(), { openapi: '3.1.0' }),
      304: { description: 'Unchanged.' },
    },
  };
  let representation: Representation | undefined;
  app.get('/openapi.json', { config: { operation } }, (request, reply) => {
    representation ??= represent(
      JSON.stringify(createOpenApiDocument(routes, app.prefix, description)),
      jsonContentType,
    );
    return sendRepresentation(request, reply, representation);
  });
  addDocsPage(app, () => describeRoutes(routes, app.prefix, description));
}

const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const files = [
  ['/docs/docs.js', 'docs/docs.js', 'getDocsScript'],
  ['/docs/docs.css', 'docs/docs.css', 'getDocsStyle'],
  ['/docs/icon.svg', 'demo/icon.svg', 'getDocsIcon'],
] as const;

function addDocsPage(app: ServiceApp, document: () => OpenApiDocument): void {
  serveFile(app, '/docs', {
    operationId: 'getDocsPage',
    tag: 'Service',
    summary: 'This description as a page',
    contentType: 'text/html; charset=utf-8',
    contentSecurityPolicy,
    read: async () => renderPage(document()),
    // At /docs/, the page's relative addresses would be wrong.
    otherSpelling: { path: '/docs/', location: '../docs' },
  });
  serveFiles(app, files, { tag: filesTag, summary: 'A file of the page /docs', contentSecurityPolicy });
}

/** Operations with this tag serve files. The page shows nothing but their paths. */
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
          ${Object.hasOwn(paths, '/') && html`<p><a href="./">Back to the first page</a></p>`}
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
    <h2>${name}</h2>
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

function renderOperation(method: string, path: string, operation: OperationObject): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  return html`<details class="operation" id="${operationId}">
    <summary>
      <span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code>
      <span class="quiet">${summary}</span>
    </summary>
    <div class="inside">
      ${description !== undefined && renderText(description)} ${renderSecurity(operation)}
      ${
        parameters.length > 0 &&
        html`<h3>Parameters</h3>
          <dl>${parameters.map(renderParameter)}</dl>`
      }
      ${
        body &&
        html`<h3>Body</h3>
          ${renderDetails('Schema', html`<pre>${toJson(body.schema)}</pre>`)}`
      }
      ${renderForm(method, path, operation)}
      <h3>Responses</h3>
      <dl class="responses">
        ${Object.entries(responses).map(([status, response]) =>
          renderResponse(status, response as ResponseDescription),
        )}
      </dl>
    </div>
  </details>`;
}

function renderText(text: string): Html {
  const paragraphs = text
    .split('\n\n')
    .map((paragraph) =>
      paragraph
        .split('`')
        .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`)),
    );
  return html`${paragraphs.map((parts) => html`<p>${parts}</p>`)}`;
}

function renderSecurity({ security = [] }: OperationObject): Html {
  const schemes = new Set(security.flatMap((requirement) => Object.keys(requirement)));
  const isSessionNeeded = security.length > 0 && security.every((requirement) => 'session' in requirement);
  return html`${schemes.has('subscriberToken') && html`<p class="note">The header <code>Authorization</code> may have a subscriber token.</p>`}
  ${
    schemes.has('csrfToken') &&
    html`<p class="note">
      A request that carries the session cookie needs the header <code>Csrf-Token</code>.
    </p>`
  }
  ${isSessionNeeded && html`<p class="note">Needs the session cookie.</p>`}`;
}

function renderParameter({ name, in: place, required, description, schema }: ParameterObject): Html {
  const { description: meaning = '' } = schema as { description?: string };
  return html`<dt><code>${name}</code> <small>in the ${place}${required ? '' : ', optional'}</small></dt>
    <dd>${description ?? meaning} <code class="quiet">${JSON.stringify(schema)}</code></dd>`;
}

function renderResponse(status: string, { description, content = {} }: ResponseDescription): Html {
  const examples = Object.entries(content).map(([type, { example, examples: named }]) => {
    const first =
      named === undefined ? example : Object.values(named as Record<string, { value: unknown }>)[0]?.value;
    return html`<p class="type">${type}</p>
      <pre>${typeof first === 'string' && !type.includes('json') ? first : toJson(first)}</pre>`;
  });
  return html`<dt class="status s${status[0] ?? ''}">${status}</dt>
    <dd>
      <p>${description}</p>
      ${examples.length > 0 && renderDetails('Example', html`${examples}`)}
    </dd>`;
}

function renderForm(method: string, path: string, operation: OperationObject): Html {
  const { parameters = [], requestBody, security } = operation;
  const body = requestBody?.content['application/json'];
  const hasToken = security?.some((requirement) => 'csrfToken' in requirement) ?? false;
  const fields = [
    ...parameters.map(({ name, in: place, required }) => renderField(place, name, required)),
    ...(hasToken ? [renderField('header', 'Csrf-Token', false)] : []),
  ];
  return html`<form data-method="${method.toUpperCase()}" data-path="${path}">
    ${fields}
    ${
      body &&
      html`<label
        >Body<textarea name="body" rows="6" spellcheck="false">${toJson(body.example)}</textarea>
      </label>`
    }
    <button type="submit" class="primary">Send</button>
    <div class="answer" role="status" hidden></div>
  </form>`;
}

function renderField(place: string, name: string, required: boolean): Html {
  return html`<label
    >${name}<input data-in="${place}" name="${name}" autocomplete="off" ${required && html`required`}
  /></label>`;
}

const renderDetails = (title: string, content: Html): Html =>
  html`<details>
    <summary>${title}</summary>
    ${content}
  </details>`;

const toJson = (value: unknown): string => JSON.stringify(value, undefined, 2) ?? '';
