// Changes that break what the service is and does, its resources, endpoints, errors and versions.
import { changesOf, type ClaimChanges } from './source-change.ts';

const actions = 'src/service/demonstration/demonstration-routes.ts';
const csrf = 'src/service/demonstration/session.ts';
const users = 'src/service/demonstration/users.ts';
const routes = 'src/service/demonstration/demonstration-routes.ts';
const filter = 'src/service/demonstration/logging-mechanisms.ts';
const cors = 'src/service/cors.ts';
const document = 'src/service/description.ts';
const vapidKey = 'src/service/push/vapid-key.ts';
const registration = 'src/service/push/registration.ts';
const webPush = 'src/service/push/web-push.ts';
const subscription = 'src/protocol/subscription.ts';
const base64 = 'src/protocol/bytes.ts';

const keyText = 'represent(JSON.stringify(vapidPublicKey), jsonContentType)';
const elapsed = 'Math.round(performance.now() - startMs)';
const decimal = '/^(0|-?[1-9][0-9]{0,18})$/';

export const service: ClaimChanges = {
  'The service owns one key pair for VAPID, an ECDSA P-256 pair': changesOf(vapidKey, {
    'the service hands out another key than the one of its pair': [
      keyText,
      "represent(JSON.stringify(`B${'A'.repeat(86)}`), jsonContentType)",
    ],
  }),
  'The pair is generated once and need not be regenerated per run': changesOf(
    'src/cli/data/data-directory.ts',
    {
      'each run makes a pair': [
        'return { ...pair, previousKeys',
        "return { ...(await import('../../protocol/vapid.ts')).generateVapidKeys(), previousKeys",
      ],
    },
  ),
  'GET /vapidKey returns the public half, with which a client can subscribe': changesOf(vapidKey, {
    'the key is cut short': [keyText, 'represent(JSON.stringify(vapidPublicKey.slice(1)), jsonContentType)'],
  }),
  'The client sends endpoint, p256dh and auth to POST /webPush, which writes them to the server console': [
    ...changesOf(registration, {
      'nothing is written': [
        'log.info(\n      redactSubscriptions',
        '(() => undefined)(\n      redactSubscriptions',
      ],
    }),
    ...changesOf('src/service/create-service.ts', {
      'the values are left out by default': ['redactSubscriptions: false', 'redactSubscriptions: true'],
    }),
    ...changesOf('src/http/log.ts', {
      'the command suppresses the line': ['logger.info(record)', "'p256dh' in record || logger.info(record)"],
    }),
    ...changesOf(registration, {
      'auth is not among the values': [', endpoint, p256dh, auth', ', endpoint, p256dh'],
    }),
  ],
  'Sending is not an HTTP endpoint of the service': changesOf(webPush, {
    'there is a route to send': [
      "app.post(\n    '/webPush',",
      "app.post('/webPush/send', { config: { operation: postOperation } }, async () => 'sent'); app.post('/webPush',",
    ],
    'there is a route to send that the description does not show': [
      "app.post(\n    '/webPush',",
      "app.post('/send', async () => 'sent'); app.post('/webPush',",
    ],
  }),
  'Requests from any origin are accepted on every path': changesOf(cors, {
    'one origin is accepted': [
      "'access-control-allow-origin': '*'",
      "'access-control-allow-origin': 'https://a.example'",
    ],
    'unknown paths have no CORS headers': ['reply.headers', 'if (!reply.request.is404) reply.headers'],
  }),
  'Each demonstration action can be logged by each of the four mechanisms alone': changesOf(actions, {
    'logging inside the action needs a second mechanism': ["('action')", "('action') && logging.length > 1"],
    'POST /api/post does not log inside the action': [
      'await inAction(',
      "await (name === 'post' ? withoutLogging : inAction)(",
    ],
    'the authenticator logs nothing': ["logging.includes('authenticator') ? log : undefined", 'undefined'],
  }),
  'The demonstration actions return fixed JSON strings': changesOf(actions, {
    'the string changes from request to request': ['answers[name]', 'answers[name] + performance.now()'],
  }),
  'The public key is URL-safe base64 text of the P-256 public key': changesOf(vapidKey, {
    'the key is padded': [keyText, 'represent(JSON.stringify(`${vapidPublicKey}=`), jsonContentType)'],
  }),
  'The private key is URL-safe base64 text that no endpoint ever returns': changesOf(
    'src/cli/commands/serve.ts',
    {
      'the command gives the service the private half': [': vapidKeys.publicKey', ': vapidKeys.privateKey'],
    },
  ),
  'A subscription needs endpoint, p256dh and auth, each a string': changesOf(subscription, {
    'auth may be missing': ["readBytes(keys['auth'],", "readBytes(keys['auth'] ?? 'A'.repeat(22),"],
    'a number is taken for a string': [
      "if (typeof text === 'string') return text;",
      "if (typeof text === 'string' || typeof text === 'number') return String(text);",
    ],
  }),
  'p256dh and auth are standard base64 with padding': changesOf(base64, {
    'the standard alphabet is refused': ['!standardAlphabet.test(digits) && ', ''],
    'padding is refused': ['if (isPadded && text.length % 4 !== 0)', 'if (isPadded)'],
  }),
  'An example user has id (int64), name and email': changesOf(users, {
    'ids beyond 2^53 are rounded': ['exactNumber(user.id)', 'Number(user.id)'],
    'the id is a string': ['exactNumber(user.id)', 'String(user.id)'],
  }),
  'An update of a user needs the strings name and email': changesOf(users, {
    'email may be missing': [', email: nonEmptyText', ', email: Type.Optional(nonEmptyText)'],
    'email may be null': [', email: nonEmptyText', ", email: { ...nonEmptyText, type: ['string', 'null'] }"],
  }),
  'The demonstration session value is the server-side entry SESSION, a string': changesOf(routes, {
    'the entry has another name': ['{ SESSION: value }', '{ session: value }'],
  }),
  'GET /vapidKey takes nothing and answers 200 with a JSON string': changesOf(vapidKey, {
    'the key is not in quotes': [keyText, 'represent(vapidPublicKey, jsonContentType)'],
    'the content type is text/plain': [keyText, "represent(JSON.stringify(vapidPublicKey), 'text/plain')"],
  }),
  'POST /webPush takes the three strings as a JSON object and answers 200 with a JSON string': changesOf(
    webPush,
    {
      'the status is 201': ['sendJson(reply, acknowledgement)', 'sendJson(reply.code(201), acknowledgement)'],
      'the answer is an object': ['sendJson(reply, acknowledgement)', 'sendJson(reply, { acknowledgement })'],
    },
  ),
  'GET /api/get takes nothing and answers 200 with a JSON string': changesOf(actions, {
    'the answer is not JSON': ['JSON.stringify(await', 'String(await'],
  }),
  'GET /api/getWithArg/:arg takes a string in the path and answers 200 with one fixed JSON string': changesOf(
    actions,
    {
      'the string shows the argument': ['answers[name]', "answers[name] + request.params['arg']"],
      'arguments have at most two characters': ['const maxArgLength = 256', 'const maxArgLength = 2'],
    },
  ),
  'POST /api/post takes any JSON object and answers 200 with one fixed JSON string': changesOf(actions, {
    'the string shows the body': ['answers[name]', 'answers[name] + JSON.stringify(request.body)'],
    'the object needs a member': ['= Type.AnyObject(', '= Type.Object({ note: Type.String() }, '],
  }),
  'POST /api/post is exempt from the CSRF check': changesOf(actions, {
    'it is not exempt': ['csrfExempt: true', 'csrfExempt: false'],
  }),
  'No other route is exempt from the CSRF check': changesOf(csrf, {
    'DELETE is exempt': ['.config.csrfExempt ||', ".config.csrfExempt || request.method === 'DELETE' ||"],
    'any token is accepted': ['tokens.verify(session.secret, token)', 'token.length > 0'],
    'a token of another session is accepted': [
      'tokens.verify(session.secret, token)',
      '/^[\\w-]+-[\\w-]{27,}$/.test(token)',
    ],
  }),
  'With the filter on, every response carries Request-Time in whole milliseconds': changesOf(filter, {
    'Request-Time is always 0': [elapsed, '0'],
    'Request-Time is in seconds': [elapsed, 'Math.round((performance.now() - startMs) / 1000)'],
    'Request-Time is in microseconds': [elapsed, 'Math.round((performance.now() - startMs) * 1000)'],
    'Request-Time has a fraction': [elapsed, '(performance.now() - startMs)'],
    'responses from 400 on have no Request-Time': [
      "response.setHeader('Request-Time', String(elapsedMs));",
      "if (response.status < 400) response.setHeader('Request-Time', String(elapsedMs));",
    ],
  }),
  'Without the filter, no response carries it': changesOf('src/service/options.ts', {
    'the filter is always on': ["logging.includes('filter') ?", 'true ?'],
  }),
  'GET /v1/user/{user_id} answers 200 with the user record as application/json': changesOf(users, {
    'the content type is another one': [
      'sendJson(reply, { ...user, id: exactNumber(user.id) })',
      "reply.type('text/plain').send(JSON.stringify({ ...user, id: Number(user.id) }))",
    ],
    'the record has no name': [
      '{ ...user, id: exactNumber(user.id) }',
      '{ id: exactNumber(user.id), email: user.email }',
    ],
  }),
  'PUT /v1/user/{user_id} answers 200 without a body, and the record is the one sent': changesOf(users, {
    'the answer has a body': ['return reply.send();', "return sendJson(reply, 'Replaced.');"],
    'the record is not the one sent': ['user_id, name, email })', 'user_id, name, email: name })'],
  }),
  'An invalid user id is a 400': changesOf(users, {
    '01 is an id': [decimal, '/^(-?[0-9]{1,19})$/'],
    '+1 is an id': [decimal, '/^(0|[+-]?[1-9][0-9]{0,18})$/'],
    'an id beyond int64 is not found': ['&& id <= maxId', ''],
  }),
  'A user that does not exist is a 404': changesOf(users, {
    'every id is the example user': ['users.find(request.params.user_id)', 'users.find(1n)'],
    'an update of a user that does not exist is a 200': [')) throw notFound(', ')) return reply.send('],
  }),
  'The example user API is under /v1, and not elsewhere': changesOf(users, {
    'it is under /v2': [
      "'/v1/user/*',\n    { schema: { params: userParams }, v",
      "'/v2/user/*',\n    { schema: { params: userParams }, v",
    ],
    'it is at /user too': ['  app.get(', "  app.get('/user/1', async () => 'a user');\n  app.get("],
  }),
  'The description document carries info.version for the description itself': changesOf(document, {
    'info.version is empty': ["version: '1", "version: '' && '1"],
    'info.version is the number of OpenAPI': ["version: '1", "version: '3.1.0' || '1"],
  }),
};
