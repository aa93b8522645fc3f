// The description document: OpenAPI 3.1, gathered from the schemas of the routes themselves, at /openapi.json.
import swagger from '@fastify/swagger';
import * as Type from 'typebox';

import { represent, sendRepresentation, type Representation } from './conditional.ts';
import type { ServiceApp } from './service-app.ts';
import { contentResponse, emptyResponse, problemResponses, problemSchema } from './openapi-responses.ts';
import { jsonContentType } from './json-text.ts';
import { sessionCookieName } from '../demonstration/session.ts';

/** Of the description itself; to be raised with every change that a client can see. */
const descriptionVersion = '1.0.0';

const description = `Hands browsers the key to subscribe with, keeps their push subscriptions, and shows four ways to log.

Every path takes requests from any origin, without credentials. Wherever GET is answered, HEAD is; OPTIONS is answered
everywhere (204, with \`allow\` or, to a preflight, with what was asked for). A path that is not described is a 404, a
method that is not described a 405 with \`allow\`; both are problems of the form below.`;

/** Gathers every route that is added afterwards. */
export async function collectRoutes(app: ServiceApp): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Deskbell', version: descriptionVersion, description },
      // Relative to the document, so that it holds under any prefix.
      servers: [{ url: '.' }],
      tags: [
        { name: 'Web Push', description: 'Subscribing browsers.' },
        { name: 'Demonstration', description: 'Fixed contentResponse, to watch the logging mechanisms.' },
        { name: 'Example', description: 'An example user API.' },
        { name: 'Service', description: 'Health, pages and this description.' },
      ],
      components: {
        schemas: { Problem: problemSchema },
        securitySchemes: {
          session: { type: 'apiKey', in: 'cookie', name: sessionCookieName, description: 'Sealed session.' },
          csrfToken: {
            type: 'apiKey',
            in: 'header',
            name: 'Csrf-Token',
            description: 'Needed by unsafe methods that carry the session cookie.',
          },
        },
      },
    },
    stripBasePath: false,
    transform: ({ schema, url }) => ({ schema, url: url.slice(app.prefix.length) }),
  });
}

export function addDescriptionRoute(app: ServiceApp): void {
  let representation: Representation | undefined;
  app.get(
    '/openapi.json',
    {
      schema: {
        tags: ['Service'],
        summary: 'This description',
        response: {
          200: contentResponse('application/json', 'OpenAPI 3.1.', Type.Object({}), { openapi: '3.1.0' }),
          304: emptyResponse('Unchanged.'),
          ...problemResponses(),
        },
      },
    },
    (request, reply) => {
      representation ??= represent(JSON.stringify(app.swagger()), jsonContentType);
      return sendRepresentation(request, reply, representation);
    },
  );
}
