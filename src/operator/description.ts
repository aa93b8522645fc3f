// What the description document says of the operator's API as a whole.
import { operatorErrors } from '../errors/catalogue.ts';
import { license, type Description } from '../http/description/openapi-document.ts';
import { operatorFormats } from './validator.ts';

const summary = `Sends push messages and broadcasts, shows what came of them, and manages subscriptions.

Every request needs a token, as \`deskbell operators add NAME\` prints it. One that changes something needs the role \`full\` and
leaves an audit record; the role \`send\` permits to send, and to see one’s own broadcasts. Lists come in pages: \`next\` is the \`cursor\` of the next page, or null. Times are ISO 8601. Every
error is an RFC 9457 problem with a stable \`code\`. Endpoints, \`p256dh\` and \`auth\` are never returned.`;

export const operatorDescription: Description = {
  info: {
    title: 'Deskbell: the operator’s API',
    // Of the description itself; to be raised with every change that a client can see.
    version: '2.2.0',
    description: summary,
    license,
  },
  formats: operatorFormats,
  tags: {
    Sending: 'Messages and broadcasts.',
    Subscriptions: 'Who can be sent to, channels, and what is known of people.',
    'Push services': 'How sending goes, and the deletions that wait for a decision.',
    Installation: 'Keys, audit and this description.',
  },
  securitySchemes: {
    token: { type: 'http', scheme: 'bearer', description: 'A token of `deskbell operators add`.' },
  },
  errors: operatorErrors,
  errorsEverywhere: [
    'ERR_TOKEN_INVALID',
    'ERR_TOKEN_ROLE',
    'ERR_HOST_REFUSED',
    'ERR_ORIGIN_REFUSED',
    'ERR_STORE_UNAVAILABLE',
  ],
  headersEverywhere: { 'Cache-Control': { schema: { type: 'string', enum: ['no-store'] } } },
};
