// GET /docs: a page to read the description document and to try it. Swagger UI, from the files of @fastify/swagger-ui;
// nothing is loaded from another host.
import { readFile } from 'node:fs/promises';

import type { ServiceApp } from './service-app.ts';
import { serveFile } from './served-file.ts';

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Deskbell: description of the service</title>
    <link rel="icon" type="image/svg+xml" href="client/demo/icon.svg">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <main id="description"></main>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

// `validatorUrl: null`: Swagger UI would ask a host of its own about the document.
const startScript = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#description',
  deepLinking: true,
  validatorUrl: null,
});
`;

// Swagger UI writes style attributes.
const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

export function addDocsPage(app: ServiceApp): void {
  const files = [
    ['/docs', 'text/html; charset=utf-8', 'This description as a page', async () => page],
    ['/docs/start.js', 'text/javascript; charset=utf-8', 'Starts Swagger UI', async () => startScript],
    [
      '/docs/swagger-ui-bundle.js',
      'text/javascript; charset=utf-8',
      'Swagger UI',
      () => readSwaggerUi('swagger-ui-bundle.js'),
    ],
    [
      '/docs/swagger-ui.css',
      'text/css; charset=utf-8',
      'Style of Swagger UI',
      () => readSwaggerUi('swagger-ui.css'),
    ],
  ] as const;
  for (const [path, contentType, summary, read] of files) {
    serveFile(app, path, { summary, contentType, contentSecurityPolicy, read });
  }
}

function readSwaggerUi(file: string): Promise<Buffer> {
  return readFile(new URL(import.meta.resolve(`@fastify/swagger-ui/static/${file}`)));
}
