// Changes that break what the service is and does, its resources, endpoints, errors and versions.
import type { ClaimChanges } from './source-change.ts';

const actions = 'src/service/demonstration/actions.ts';
const csrf = 'src/service/demonstration/csrf.ts';
const users = 'src/service/demonstration/users.ts';
const routes = 'src/service/demonstration/add-demonstration-routes.ts';
const filter = 'src/service/demonstration/mechanisms/logging-filter.ts';
const cors = 'src/service/cors.ts';
const document = 'src/service/description.ts';
const vapidKey = 'src/service/push/vapid-key.ts';
const webPush = 'src/service/push/web-push.ts';
const subscription = 'src/protocol/subscription.ts';
const base64 = 'src/protocol/base64.ts';

const keyText = 'represent(JSON.stringify(vapidPublicKey), jsonContentType)';
const elapsed = 'Math.round(performance.now() - startMs)';
const decimal = '/^(0|-?[1-9][0-9]{0,18})$/';

export const service: ClaimChanges = {
  'The service owns one key pair for VAPID, an ECDSA P-256 pair': [
    {
      what: 'the service hands out another key than the one of its pair',
      file: vapidKey,
      search: keyText,
      replacement: "represent(JSON.stringify(`B${'A'.repeat(86)}`), jsonContentType)",
    },
  ],
  'The pair is generated once and need not be regenerated per run': [
    {
      what: 'each run makes a pair',
      file: 'src/cli/data-directory.ts',
      search: 'return { ...pair, previousKeys',
      replacement: "return { ...(await import('../protocol/vapid.ts')).generateVapidKeys(), previousKeys",
    },
  ],
  'GET /vapidKey returns the public half, with which a client can subscribe': [
    {
      what: 'the key is cut short',
      file: vapidKey,
      search: keyText,
      replacement: 'represent(JSON.stringify(vapidPublicKey.slice(1)), jsonContentType)',
    },
  ],
  'The client sends endpoint, p256dh and auth to POST /webPush, which writes them to the server console': [
    {
      what: 'nothing is written',
      file: webPush,
      search: 'log.info(\n        redactSubscriptions',
      replacement: '(() => undefined)(\n        redactSubscriptions',
    },
    {
      what: 'the values are left out by default',
      file: 'src/service/options.ts',
      search: 'redactSubscriptions = false,',
      replacement: 'redactSubscriptions = true,',
    },
    {
      what: 'the command suppresses the line',
      file: 'src/http/log.ts',
      search: 'info: (record) => logger.info(record),',
      replacement: "info: (record) => 'p256dh' in record || logger.info(record),",
    },
    {
      what: 'auth is not among the values',
      file: webPush,
      search: 'endpoint: subscription.endpoint, p256dh, auth }',
      replacement: 'endpoint: subscription.endpoint, p256dh }',
    },
  ],
  'Sending is not an HTTP endpoint of the service': [
    {
      what: 'there is a route to send',
      file: webPush,
      search: "app.post(\n    '/webPush',",
      replacement:
        "app.post('/webPush/send', { config: { operation: postOperation } }, async () => 'sent'); app.post('/webPush',",
    },
    {
      what: 'there is a route to send that the description does not show',
      file: webPush,
      search: "app.post(\n    '/webPush',",
      replacement: "app.post('/send', async () => 'sent'); app.post('/webPush',",
    },
  ],
  'Requests from any origin are accepted on every path': [
    {
      what: 'one origin is accepted',
      file: cors,
      search: "'access-control-allow-origin': '*'",
      replacement: "'access-control-allow-origin': 'https://a.example'",
    },
    {
      what: 'unknown paths have no CORS headers',
      file: cors,
      search: 'reply.headers(corsHeaders);',
      replacement: 'if (!_request.is404) reply.headers(corsHeaders);',
    },
  ],
  'Each demonstration action can be logged by each of the four mechanisms alone': [
    {
      what: 'logging inside the action needs a second mechanism',
      file: actions,
      search: "logging.includes('action')\n",
      replacement: "logging.includes('action') && logging.length > 1\n",
    },
    {
      what: 'POST /api/post does not log inside the action',
      file: actions,
      search: 'post: (request) => inAction(request, () => answers.post)',
      replacement: 'post: () => answers.post',
    },
    {
      what: 'the authenticator logs nothing',
      file: actions,
      search: "logging.includes('authenticator') ? log : undefined",
      replacement: 'undefined',
    },
  ],
  'The demonstration actions return fixed JSON strings': [
    {
      what: 'the string changes from request to request',
      file: actions,
      search: '() => answers.get)',
      replacement: '() => answers.get + performance.now())',
    },
  ],
  'The public key is URL-safe base64 text of the P-256 public key': [
    {
      what: 'the key is padded',
      file: vapidKey,
      search: keyText,
      replacement: 'represent(JSON.stringify(`${vapidPublicKey}=`), jsonContentType)',
    },
  ],
  'The private key is URL-safe base64 text that no endpoint ever returns': [
    {
      what: 'the command gives the service the private half',
      file: 'src/cli/commands/serve.ts',
      search: 'vapidPublicKey: vapidKeys.publicKey',
      replacement: 'vapidPublicKey: vapidKeys.privateKey',
    },
  ],
  'A subscription needs endpoint, p256dh and auth, each a string': [
    {
      what: 'auth may be missing',
      file: subscription,
      search: 'const value = record[name];',
      replacement: "const value = record[name] ?? (name === 'auth' ? 'A'.repeat(22) : undefined);",
    },
    {
      what: 'a number is taken for a string',
      file: subscription,
      search: "if (typeof value === 'string') return value;",
      replacement: "if (typeof value === 'string' || typeof value === 'number') return String(value);",
    },
  ],
  'p256dh and auth are standard base64 with padding': [
    {
      what: 'the standard alphabet is refused',
      file: base64,
      search: '!standardAlphabet.test(digits) && ',
      replacement: '',
    },
    {
      what: 'padding is refused',
      file: base64,
      search: 'if (isPadded && text.length % 4 !== 0)',
      replacement: 'if (isPadded)',
    },
  ],
  'An example user has id (int64), name and email': [
    {
      what: 'ids beyond 2^53 are rounded',
      file: users,
      search: 'exactNumber(user.id)',
      replacement: 'Number(user.id)',
    },
    {
      what: 'the id is a string',
      file: users,
      search: 'exactNumber(user.id)',
      replacement: 'String(user.id)',
    },
  ],
  'An update of a user needs the strings name and email': [
    {
      what: 'email may be missing',
      file: users,
      search: '{ name: nonEmptyText, email: nonEmptyText },',
      replacement: '{ name: nonEmptyText, email: Type.Optional(nonEmptyText) },',
    },
    {
      what: 'email may be null',
      file: users,
      search: '{ name: nonEmptyText, email: nonEmptyText },',
      replacement: "{ name: nonEmptyText, email: { ...nonEmptyText, type: ['string', 'null'] } },",
    },
  ],
  'The demonstration session value is the server-side entry SESSION, a string': [
    {
      what: 'the entry has another name',
      file: routes,
      search: '{ SESSION: value }',
      replacement: '{ session: value }',
    },
  ],
  'GET /vapidKey takes nothing and answers 200 with a JSON string': [
    {
      what: 'the key is not in quotes',
      file: vapidKey,
      search: keyText,
      replacement: 'represent(vapidPublicKey, jsonContentType)',
    },
    {
      what: 'the content type is text/plain',
      file: vapidKey,
      search: keyText,
      replacement: "represent(JSON.stringify(vapidPublicKey), 'text/plain')",
    },
  ],
  'POST /webPush takes the three strings as a JSON object and answers 200 with a JSON string': [
    {
      what: 'the status is 201',
      file: webPush,
      search: 'sendJson(reply, acknowledgement)',
      replacement: 'sendJson(reply.code(201), acknowledgement)',
    },
    {
      what: 'the answer is an object',
      file: webPush,
      search: 'sendJson(reply, acknowledgement)',
      replacement: 'sendJson(reply, { acknowledgement })',
    },
  ],
  'GET /api/get takes nothing and answers 200 with a JSON string': [
    {
      what: 'the answer is not JSON',
      file: actions,
      search: '=> JSON.stringify(value)',
      replacement: '=> String(value)',
    },
  ],
  'GET /api/getWithArg/:arg takes a string in the path and answers 200 with one fixed JSON string': [
    {
      what: 'the string shows the argument',
      file: actions,
      search: '() => answers.getWithArg)',
      replacement: "() => answers.getWithArg + request.params['arg'])",
    },
    {
      what: 'arguments have at most two characters',
      file: actions,
      search: 'const maxArgLength = 256',
      replacement: 'const maxArgLength = 2',
    },
  ],
  'POST /api/post takes any JSON object and answers 200 with one fixed JSON string': [
    {
      what: 'the string shows the body',
      file: actions,
      search: '() => answers.post)',
      replacement: '() => answers.post + JSON.stringify(request.body))',
    },
    {
      what: 'the object needs a member',
      file: actions,
      search: 'const postBody = Type.Object({}',
      replacement: 'const postBody = Type.Object({ note: Type.String() }',
    },
  ],
  'POST /api/post is exempt from the CSRF check': [
    {
      what: 'it is not exempt',
      file: actions,
      search: 'csrfExempt: true',
      replacement: 'csrfExempt: false',
    },
  ],
  'No other route is exempt from the CSRF check': [
    {
      what: 'DELETE is exempt',
      file: csrf,
      search: 'request.routeOptions.config.csrfExempt ||',
      replacement: "request.routeOptions.config.csrfExempt || request.method === 'DELETE' ||",
    },
    {
      what: 'any token is accepted',
      file: csrf,
      search: 'tokens.verify(session.secret, token)',
      replacement: 'token.length > 0',
    },
    {
      what: 'a token of another session is accepted',
      file: csrf,
      search: 'tokens.verify(session.secret, token)',
      replacement: '/^[\\w-]+-[\\w-]{27,}$/.test(token)',
    },
  ],
  'With the filter on, every response carries Request-Time in whole milliseconds': [
    {
      what: 'Request-Time is always 0',
      file: filter,
      search: elapsed,
      replacement: '0',
    },
    {
      what: 'Request-Time is in seconds',
      file: filter,
      search: elapsed,
      replacement: 'Math.round((performance.now() - startMs) / 1000)',
    },
    {
      what: 'Request-Time is in microseconds',
      file: filter,
      search: elapsed,
      replacement: 'Math.round((performance.now() - startMs) * 1000)',
    },
    {
      what: 'Request-Time has a fraction',
      file: filter,
      search: elapsed,
      replacement: '(performance.now() - startMs)',
    },
    {
      what: 'responses from 400 on have no Request-Time',
      file: filter,
      search: "response.setHeader('Request-Time', String(elapsedMs));",
      replacement: "if (response.status < 400) response.setHeader('Request-Time', String(elapsedMs));",
    },
  ],
  'Without the filter, no response carries it': [
    {
      what: 'the filter is always on',
      file: 'src/service/options.ts',
      search: "logging.includes('filter') ?",
      replacement: 'true ?',
    },
  ],
  'GET /v1/user/{user_id} answers 200 with the user record as application/json': [
    {
      what: 'the content type is another one',
      file: users,
      search: 'sendJson(reply, { ...user, id: exactNumber(user.id) })',
      replacement: "reply.type('text/plain').send(JSON.stringify({ ...user, id: Number(user.id) }))",
    },
    {
      what: 'the record has no name',
      file: users,
      search: '{ ...user, id: exactNumber(user.id) }',
      replacement: '{ id: exactNumber(user.id), email: user.email }',
    },
  ],
  'PUT /v1/user/{user_id} answers 200 without a body, and the record is the one sent': [
    {
      what: 'the answer has a body',
      file: users,
      search: 'return reply.send();',
      replacement: "return sendJson(reply, 'Replaced.');",
    },
    {
      what: 'the record is not the one sent',
      file: users,
      search: 'user_id, name, email })',
      replacement: 'user_id, name, email: name })',
    },
  ],
  'An invalid user id is a 400': [
    {
      what: '01 is an id',
      file: users,
      search: decimal,
      replacement: '/^(-?[0-9]{1,19})$/',
    },
    {
      what: '+1 is an id',
      file: users,
      search: decimal,
      replacement: '/^(0|[+-]?[1-9][0-9]{0,18})$/',
    },
    {
      what: 'an id beyond int64 is not found',
      file: users,
      search: '&& id <= maxId',
      replacement: '',
    },
  ],
  'A user that does not exist is a 404': [
    {
      what: 'every id is the example user',
      file: users,
      search: 'users.find(request.params.user_id)',
      replacement: 'users.find(1n)',
    },
    {
      what: 'an update of a user that does not exist is a 200',
      file: users,
      search: 'email }))) throw notFound();',
      replacement: 'email }))) return reply.send();',
    },
  ],
  'The example user API is under /v1, and not elsewhere': [
    {
      what: 'it is under /v2',
      file: users,
      search: "'/v1/user/*',\n    { schema: { params: userParams }, v",
      replacement: "'/v2/user/*',\n    { schema: { params: userParams }, v",
    },
    {
      what: 'it is at /user too',
      file: users,
      search: '  app.get(',
      replacement: "  app.get('/user/1', async () => 'a user');\n  app.get(",
    },
  ],
  'The description document carries info.version for the description itself': [
    {
      what: 'info.version is empty',
      file: document,
      search: "version: '1",
      replacement: "version: '' && '1",
    },
    {
      what: 'info.version is the number of OpenAPI',
      file: document,
      search: "version: '1",
      replacement: "version: '3.1.0' || '1",
    },
  ],
};
