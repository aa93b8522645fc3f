// GET /openapi.json: the description document. GET /docs: the same as a page.
import type { RouteOptions } from 'fastify';
import { Type } from '../schema.ts';

import { represent, sendRepresentation, type Representation } from '../etag.ts';
import { jsonContentType } from '../json-text.ts';
import type { ServiceApp } from '../service-app.ts';
import { addDocsPage } from './docs-page.ts';
import { createOpenApiDocument, describeRoutes, type Description } from './openapi-document.ts';
import { contentResponse, emptyResponse } from './openapi-responses.ts';
import type { Operation } from './operation.ts';

/** @param routes from `collectRoutes`; those added later are described too */
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
      304: emptyResponse('Unchanged.'),
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
