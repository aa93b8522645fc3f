import { serviceErrors } from '../errors/catalogue.ts';
import { license, type Description, type SecuritySchemes } from '../http/description/openapi-document.ts';
import { serviceFormats } from './validator.ts';

const summary = `Hands browsers the key to subscribe with and keeps their push subscriptions.

Every path takes requests from any origin, without credentials. HEAD is answered wherever GET is. OPTIONS is a 204
everywhere, with \`allow\` or, to a preflight, with what was asked for. A path that is not described is a 404, a method that
is not described a 405 with \`allow\`. Every error is an RFC 9457 problem with a stable \`code\`.`;

export const describeService = (securitySchemes: SecuritySchemes): Description => ({
  info: {
    title: 'Deskbell',
    // Version of the description; raise it with every change that a client can see.
    version: '1.5.0',
    description: summary,
    license,
  },
  formats: serviceFormats,
  tags: {
    'Web Push': 'Subscribing browsers.',
    Demonstration: 'A page that subscribes a browser, and fixed answers to watch the logging mechanisms.',
    Example: 'An example user API.',
    Service: 'Health and this description.',
    Files: 'What pages load.',
  },
  securitySchemes,
  errors: serviceErrors,
  errorsEverywhere: [],
  headersEverywhere: {
    'Access-Control-Allow-Origin': { schema: { type: 'string', enum: ['*'] } },
    'Request-Time': {
      description:
        'Milliseconds since the first byte of the request; present while the logging filter is on.',
      schema: { type: 'string', pattern: '^[0-9]+$' },
    },
  },
});
