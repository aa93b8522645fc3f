// The description of the public service (OpenAPI), and the formats of its schemas.
import { serviceErrors } from '../errors/catalogue.ts';
import type { Formats } from '../errors/describe-schema.ts';
import { type Description, license, type SecuritySchemes } from '../http/description/openapi-document.ts';
import { createValidatorCompiler } from '../http/validation.ts';

const serviceFormats: Formats = {
  // no lone surrogates, which UTF-8 cannot represent (RFC 3629 §3)
  text: {
    fits: (value: string) => value.isWellFormed(),
    words: 'a string that is not empty, of well-formed Unicode (no lone U+D800 to U+DFFF)',
  },
  'receipt-token': { fits: () => true, words: 'the member receipt of the payload' },
};

export const compileValidator = createValidatorCompiler(serviceFormats);

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
