// Changes that break cross-origin access, the authenticator or the logging mechanisms.
import type { ClaimChanges } from './source-change.ts';

const cors = 'src/service/cors.ts';
const csrf = 'src/service/demonstration/csrf.ts';
const actions = 'src/service/demonstration/actions.ts';
const routes = 'src/service/demonstration/add-demonstration-routes.ts';
const authenticator = 'src/service/demonstration/mechanisms/authenticator.ts';
const actionCreator = 'src/service/demonstration/mechanisms/action-creator.ts';
const actionRequest = 'src/service/demonstration/mechanisms/action-request.ts';
const filter = 'src/http/filter.ts';
const mechanismsTest = 'test/service/logging-mechanisms.test.ts';

const sessionRead = 'sessions.of(request)?.SESSION;';
const preflightVary = "vary: 'Access-Control-Request-Method,";

export const authentication: ClaimChanges = {
  'Cross-origin access is decided before CSRF': [
    {
      what: 'responses get their CORS headers after the CSRF check',
      file: cors,
      search: "app.addHook('onRequest', (_request,",
      replacement: "app.addHook('preHandler', (_request,",
    },
  ],
  'All methods are allowed cross-origin, custom ones too': [
    {
      what: 'a preflight allows a fixed list of methods',
      file: cors,
      search: "'access-control-allow-methods': askedMethod",
      replacement: "'access-control-allow-methods': 'GET, PUT, POST, DELETE, PATCH'",
    },
  ],
  'All headers are allowed cross-origin': [
    {
      what: 'a preflight allows content-type alone',
      file: cors,
      search: "'access-control-allow-headers': askedHeaders",
      replacement: "'access-control-allow-headers': 'content-type'",
    },
  ],
  'The preflight’s max-age is not set': [
    {
      what: 'every preflight sets max-age',
      file: cors,
      search: preflightVary,
      replacement: "'access-control-max-age': '600', vary: 'Access-Control-Request-Method,",
    },
    {
      what: 'max-age is set when headers are asked for',
      file: cors,
      search: "'access-control-allow-headers': askedHeaders",
      replacement: "'access-control-max-age': '600', 'access-control-allow-headers': askedHeaders",
    },
    {
      what: 'max-age is set for PUT',
      file: cors,
      search: preflightVary,
      replacement:
        "...(askedMethod === 'PUT' && { 'access-control-max-age': '600' }), vary: 'Access-Control-Request-Method,",
    },
  ],
  'A request with the session entry SESSION passes the authenticator': [
    {
      what: 'an empty SESSION does not pass',
      file: authenticator,
      search: 'if (value === undefined)',
      replacement: 'if (!value)',
    },
  ],
  'A request without the session entry SESSION is rejected with 401': [
    {
      what: 'a request without SESSION passes',
      file: authenticator,
      search: "if (value === undefined) return 'unauthenticated'",
      replacement: "if (value === undefined) return 'pass'",
    },
    {
      what: 'the status is 403',
      file: authenticator,
      search: "DeskbellError('ERR_UNAUTHENTICATED'",
      replacement: "DeskbellError('ERR_FORBIDDEN'",
    },
    {
      what: 'HEAD goes without the authenticator',
      file: authenticator,
      search: 'if (authenticator === undefined)',
      replacement: "if (authenticator === undefined || route.method === 'HEAD')",
    },
  ],
  'A 403 is there for a session value, which the default check never gives': [
    {
      what: 'a refused value passes',
      file: authenticator,
      search: "? 'pass' : 'forbidden'",
      replacement: "? 'pass' : 'pass'",
    },
    {
      what: 'the default check refuses a value',
      file: 'src/service/options.ts',
      search: 'authorize = () => true',
      replacement: "authorize = (value) => value !== 'ada'",
    },
  ],
  '/vapidKey and /webPush need no credential': [
    {
      what: 'an unsafe method needs a session',
      file: csrf,
      search: 'readSessionCookie(request.headers.cookie) === undefined',
      replacement: 'false',
    },
    {
      what: '/vapidKey needs a cookie',
      file: 'src/service/push/vapid-key.ts',
      search: 'return sendRepresentation(request, reply, representation);',
      replacement:
        'return request.headers.cookie ? sendRepresentation(request, reply, representation) : reply.code(401).send();',
    },
  ],
  'A value for SESSION comes from server-side code alone': [
    {
      what: 'SESSION is taken from a header',
      file: routes,
      search: sessionRead,
      replacement: "sessions.of(request)?.SESSION ?? (request.headers['session'] as string | undefined);",
    },
    {
      what: 'SESSION is taken from the query',
      file: routes,
      search: sessionRead,
      replacement: 'sessions.of(request)?.SESSION ?? (request.query as { SESSION?: string }).SESSION;',
    },
    {
      what: 'SESSION is taken from the body',
      file: routes,
      search: sessionRead,
      replacement: 'sessions.of(request)?.SESSION ?? (request.body as { SESSION?: string })?.SESSION;',
    },
    {
      what: 'SESSION is taken from a cookie that is not sealed',
      file: routes,
      search: sessionRead,
      replacement: 'sessions.of(request)?.SESSION ?? /SESSION=(.*)/.exec(request.headers.cookie ?? "")?.[1];',
    },
    {
      what: 'a client may set a cookie',
      file: cors,
      search: 'reply.headers(corsHeaders);',
      replacement:
        "reply.headers(corsHeaders); if (_request.url.includes('SESSION')) reply.header('set-cookie', 'SESSION=x');",
    },
  ],
  'With all four, one request is logged by authenticator, action creator, action, action creator, filter': [
    {
      what: 'the action creator is asked before the authenticator',
      file: authenticator,
      search: 'route.preValidation = [preValidation, authenticate].flat()',
      replacement:
        'const { handler } = route; route.handler = async function late(request, reply) { await authenticate(request); return handler.call(this, request, reply); }',
    },
    {
      what: 'the action creator logs nothing before the action',
      file: actionCreator,
      search: "log.info({ mechanism, phase: 'request', ...record });",
      replacement: '',
    },
    {
      what: 'the filter logs when the request begins',
      file: filter,
      search: "app.addHook('onSend', (_request, reply, _payload, done) => {",
      replacement: "app.addHook('onRequest', (_request, reply, done) => {",
    },
  ],
  'The authenticator is attached per action, by annotation': [
    {
      what: 'every action is annotated',
      file: actions,
      search: 'authenticate.includes(name) ? { authenticator } : {}',
      replacement: 'true ? { authenticator } : {}',
    },
    {
      what: 'no action is annotated',
      file: actions,
      search: 'authenticate.includes(name) ? { authenticator } : {}',
      replacement: 'false ? { authenticator } : {}',
    },
  ],
  'The authenticator is attached per class of actions, by annotation': [
    {
      what: 'no class is annotated',
      file: actions,
      search: "if (authenticate === 'all') annotateClass",
      replacement: 'if (false) annotateClass',
    },
    {
      what: 'the annotation holds for other classes too',
      file: routes,
      search: 'addActionRoutes(scope,',
      replacement: 'addActionRoutes(app,',
    },
  ],
  'The action creator is attached by one configuration entry': [
    {
      what: 'the entry has no effect',
      file: actions,
      search: "if (logging.includes('action-creator')) {",
      replacement: "if (logging.includes('none' as never)) {",
    },
    {
      what: 'it needs a second entry',
      file: actions,
      search: "if (logging.includes('action-creator')) {",
      replacement: "if (logging.includes('action-creator') && logging.length > 1) {",
    },
  ],
  'The filter is attached by one entry in the list of enabled filters': [
    {
      what: 'the entry has no effect',
      file: 'src/service/options.ts',
      search: "logging.includes('filter') ?",
      replacement: 'false ?',
    },
  ],
  'What each mechanism can see is the table of the specification: 16 cells, each seen or not to be seen': [
    {
      what: 'the filter sees the request with its body',
      file: filter,
      search: 'readonly entity = opaqueEntity;',
      replacement: 'get entity() { return this.#reply.request; }',
    },
    {
      what: 'the filter does not see the URL',
      file: filter,
      search: 'return { method, url, startMs:',
      replacement: "return { method, url: '', startMs:",
    },
    {
      what: 'the action creator sees the response',
      file: 'src/http/entity.ts',
      search: 'seal(value) {\n      const entity = Object.freeze(Object.create(null));',
      replacement: 'seal(value) {\n      const entity = Object.freeze({ value });',
    },
    {
      what: 'no mechanism sees the body',
      file: actionRequest,
      search: 'return this.#request.body;',
      replacement: 'return undefined;',
    },
    {
      what: 'no mechanism sees the session',
      file: actionRequest,
      search: 'return this.#readSession(this.#request);',
      replacement: 'return {};',
    },
  ],
  'The order is the same where an action fails, the authenticator or CSRF refuses, or the client goes away': [
    {
      what: 'the action creator logs no result of an action that failed',
      file: actionCreator,
      search: 'return { isFailure: true, entity: opener.seal(error) };',
      replacement: 'throw error;',
    },
    {
      what: 'the action runs although the authenticator refuses',
      file: authenticator,
      search: "if (verdict === 'unauthenticated') {",
      replacement: "if (verdict === 'unauthenticated' && request.method !== 'GET') {",
      test: { file: mechanismsTest, title: 'end with the filter alone where the authenticator refuses' },
    },
    {
      what: 'the filter logs no request that the CSRF check refuses',
      file: filter,
      search: "app.addHook('onSend', (_request, reply, _payload, done) => {",
      replacement:
        "app.addHook('onSend', (_request, reply, _payload, done) => { if (reply.statusCode === 403) return done();",
      test: { file: mechanismsTest, title: 'are the filter’s alone where the CSRF check refuses' },
    },
    {
      what: 'the filter does not say that the client is gone',
      file: filter,
      search: 'return this.#reply.request.raw.socket.destroyed;',
      replacement: 'return false;',
      test: { file: mechanismsTest, title: 'stays the same where the client is gone while the action works' },
    },
  ],
};
