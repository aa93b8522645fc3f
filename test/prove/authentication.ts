// Changes that break cross-origin access, the authenticator or the logging mechanisms.
import { changesOf, type ClaimChanges } from './source-change.ts';

const cors = 'src/service/cors.ts';
const csrf = 'src/service/demonstration/session.ts';
const actions = 'src/service/demonstration/demonstration-routes.ts';
const routes = 'src/service/demonstration/demonstration-routes.ts';
const authenticator = 'src/service/demonstration/authenticator.ts';
const actionCreator = 'src/service/demonstration/logging-mechanisms.ts';
const actionRequest = 'src/service/demonstration/logging-mechanisms.ts';
const filter = 'src/http/filter.ts';
const mechanismsTest = 'test/service/logging-mechanisms.test.ts';

const sessionRead = 'sessionOf(request)?.SESSION;';
const preflightVary = "vary: 'Access-Control-Request-Method,";

export const authentication: ClaimChanges = {
  'Cross-origin access is decided before CSRF': changesOf(cors, {
    'responses get their CORS headers after the CSRF check': [
      'removeReplyCors(reply);\n    reply.headers',
      'removeReplyCors(reply);\n    if (reply.statusCode !== 403) reply.headers',
    ],
  }),
  'All methods are allowed cross-origin, custom ones too': changesOf(cors, {
    'a preflight allows a fixed list of methods': [': askedMethod', ": 'GET, PUT, POST, DELETE, PATCH'"],
  }),
  'All headers are allowed cross-origin': changesOf(cors, {
    'a preflight allows content-type alone': [': askedHeaders', ": 'content-type'"],
  }),
  'The preflight’s max-age is not set': changesOf(cors, {
    'every preflight sets max-age': ["vary: 'Access-", "'access-control-max-age': '600', vary: 'Access-"],
    'max-age is set when headers are asked for': [
      "'access-control-allow-headers': askedHeaders",
      "'access-control-max-age': '600', 'access-control-allow-headers': askedHeaders",
    ],
    'max-age is set for PUT': [
      preflightVary,
      "...(askedMethod === 'PUT' && { 'access-control-max-age': '600' }), vary: 'Access-Control-Request-Method,",
    ],
  }),
  'A request with the session entry SESSION passes the authenticator': changesOf(authenticator, {
    'an empty SESSION does not pass': ['if (value === undefined)', 'if (!value)'],
  }),
  'A request without the session entry SESSION is rejected with 401': changesOf(authenticator, {
    'a request without SESSION passes': ["return 'unauthenticated'", "return 'pass'"],
    'the status is 403': ["DeskbellError('ERR_UNAUTHENTICATED'", "DeskbellError('ERR_FORBIDDEN'"],
    'HEAD goes without the authenticator': [
      'if (authenticator === undefined)',
      "if (authenticator === undefined || route.method === 'HEAD')",
    ],
  }),
  'A 403 is there for a session value, which the default check never gives': [
    ...changesOf(authenticator, {
      'a refused value passes': ["? 'pass' : 'forbidden'", "? 'pass' : 'pass'"],
    }),
    ...changesOf('src/service/demonstration/demonstration-routes.ts', {
      'the default check refuses a value': ['= () => true', "= (value) => value !== 'ada'"],
    }),
  ],
  '/vapidKey and /webPush need no credential': [
    ...changesOf(csrf, {
      'an unsafe method needs a session': [
        'readSessionCookie(request.headers.cookie) === undefined',
        'false',
      ],
    }),
    ...changesOf('src/service/push/vapid-key.ts', {
      '/vapidKey needs a cookie': [
        'return sendRepresentation(request, reply, representation);',
        'return request.headers.cookie ? sendRepresentation(request, reply, representation) : reply.code(401).send();',
      ],
    }),
  ],
  'A value for SESSION comes from server-side code alone': [
    ...changesOf(routes, {
      'SESSION is taken from a header': [
        sessionRead,
        "sessionOf(request)?.SESSION ?? (request.headers['session'] as string | undefined);",
      ],
      'SESSION is taken from the query': [
        sessionRead,
        'sessionOf(request)?.SESSION ?? (request.query as { SESSION?: string }).SESSION;',
      ],
      'SESSION is taken from the body': [
        sessionRead,
        'sessionOf(request)?.SESSION ?? (request.body as { SESSION?: string })?.SESSION;',
      ],
      'SESSION is taken from a cookie that is not sealed': [
        sessionRead,
        'sessionOf(request)?.SESSION ?? /SESSION=(.*)/.exec(request.headers.cookie ?? "")?.[1];',
      ],
    }),
    ...changesOf(cors, {
      'a client may set a cookie': [
        'removeCors(reply.raw);',
        "removeCors(reply.raw); if (raw.url?.includes('SESSION')) reply.header('set-cookie', 'SESSION=x');",
      ],
    }),
  ],
  'With all four, one request is logged by authenticator, action creator, action, action creator, filter': [
    ...changesOf(authenticator, {
      'the action creator is asked before the authenticator': [
        'route.preValidation = [preValidation, authenticate].flat()',
        'const { handler } = route; route.handler = async function late(request, reply) { await authenticate(request); return handler.call(this, request, reply); }',
      ],
    }),
    ...changesOf(actionCreator, {
      'the action creator logs nothing before the action': [
        "log.info({ mechanism, phase: 'request', ...record });",
        '',
      ],
    }),
    ...changesOf(filter, {
      'the filter logs when the request begins': [
        "app.addHook('onSend', (request, reply, _payload, done) => {",
        "app.addHook('onRequest', (request, reply, done) => {",
      ],
    }),
  ],
  'The authenticator is attached per action, by annotation': changesOf(actions, {
    'every action is annotated': ['authenticate.includes(name) &&', 'true &&'],
    'no action is annotated': ['authenticate.includes(name) &&', 'false &&'],
  }),
  'The authenticator is attached per class of actions, by annotation': [
    ...changesOf(actions, {
      'no class is annotated': ["if (authenticate === 'all') annotateClass", 'if (false) annotateClass'],
    }),
    ...changesOf(routes, {
      'the annotation holds for other classes too': ['addActionRoutes(scope,', 'addActionRoutes(app,'],
    }),
  ],
  'The action creator is attached by one configuration entry': changesOf(actions, {
    'the entry has no effect': ["logging.includes('action-creator')", "logging.includes('none' as never)"],
    'it needs a second entry': ["('action-creator')", "('action-creator') && logging.length > 1"],
  }),
  'The filter is attached by one entry in the list of enabled filters': changesOf('src/service/options.ts', {
    'the entry has no effect': ["logging.includes('filter') ?", 'false ?'],
  }),
  'What each mechanism can see is the table of the specification: 16 cells, each seen or not to be seen': [
    ...changesOf(filter, {
      'the filter sees the request with its body': ['entity: opaqueValue', 'entity: reply.request as object'],
      'the filter does not see the URL': ['method, url: originalUrl, startMs:', "method, url: '', startMs:"],
    }),
    ...changesOf('src/http/filter.ts', {
      'the action creator sees the response': [
        'seal(value: Value): SealedValue {\n      const entity = Object.freeze(Object.create(null));',
        'seal(value: Value): SealedValue {\n      const entity = Object.freeze({ value });',
      ],
    }),
    ...changesOf(actionRequest, {
      'no mechanism sees the body': ['this.body = request.body;', 'this.body = undefined;'],
      'no mechanism sees the session': ['this.session = readSession(request);', 'this.session = {};'],
    }),
  ],
  'The order is the same where an action fails, the authenticator or CSRF refuses, or the client goes away': [
    ...changesOf(actionCreator, {
      'the action creator logs no result of an action that failed': [
        'return { isFailure: true, entity: opener.seal(error) };',
        'throw error;',
      ],
    }),
    ...changesOf(
      authenticator,
      {
        'the action runs although the authenticator refuses': [
          "if (verdict === 'unauthenticated') {",
          "if (verdict === 'unauthenticated' && request.method !== 'GET') {",
        ],
      },
      { file: mechanismsTest, title: 'end with the filter alone where the authenticator refuses' },
    ),
    ...changesOf(
      filter,
      {
        'the filter logs no request that the CSRF check refuses': [
          "app.addHook('onSend', (request, reply, _payload, done) => {",
          "app.addHook('onSend', (request, reply, _payload, done) => { if (reply.statusCode === 403) return done();",
        ],
      },
      { file: mechanismsTest, title: 'are the filter’s alone where the CSRF check refuses' },
    ),
    ...changesOf(
      filter,
      {
        'the filter does not say that the client is gone': ['reply.request.raw.socket.destroyed,', 'false,'],
      },
      { file: mechanismsTest, title: 'stays the same where the client is gone while the action works' },
    ),
  ],
};
