// Promises of docs/security.md on web pages, on other users of the machine, and on keys.
import type { DocumentedPromise } from '../promise.ts';

const sessionTest = 'test/service/session.test.ts';
const authorize = 'test/operator/authorize.test.ts';
const access = 'test/operator/console-access.test.ts';
const keyFile = 'test/keys/key-file.test.ts';
const keyRing = 'test/keys/key-ring.test.ts';
const wrongRequests = 'test/operator/wrong-requests.test.ts';

export const securityOfPages: readonly DocumentedPromise[] = [
  {
    claim: 'The session cookie is `HttpOnly` and `SameSite=Lax`',
    test: { file: sessionTest, title: 'is to be set http-only, for the same site' },
    changes: {
      'src/service/demonstration/session-cookie.ts': {
        'scripts read it': ['; HttpOnly', ''],
        'it goes with every request from elsewhere': ['SameSite=Lax', 'SameSite=None'],
      },
    },
  },
  {
    claim:
      'Each route of the service that changes something needs a CSRF token with the cookie, but `POST /api/post`',
    test: { file: sessionTest, title: 'is refused without a token at each route that changes something' },
    changes: {
      'src/service/push/receipts.ts': {
        'that for receipts does not': [
          'config: { operation, rate',
          'config: { operation, csrfExempt: true, rate',
        ],
      },
      'src/service/push/channels.ts': {
        'that for channels does not': ['      config: {', '      config: { csrfExempt: true,'],
      },
      'src/service/demonstration/csrf.ts': {
        'deleting needs none': ["'OPTIONS', 'TRACE'", "'OPTIONS', 'DELETE'"],
      },
    },
  },
  {
    claim: 'The pages of the service cannot be framed, and load nothing from other hosts',
    test: { file: 'test/service/http.test.ts', title: 'loads nothing from another host' },
    changes: {
      'src/service/demonstration/demo-page.ts': {
        'the demo page may be framed': ["frame-ancestors 'none'; ", ''],
        'the demo page loads from anywhere': ["default-src 'self'", 'default-src *'],
        'the demo page loads pictures from anywhere': ["img-src 'self' data:", 'img-src *'],
      },
      'src/http/description/docs-page.ts': {
        'the page of the API may be framed': ["frame-ancestors 'none'", "frame-ancestors 'self'"],
        'the page of the API asks anybody': ["connect-src 'self'", 'connect-src *'],
      },
      'src/service/push/preferences-page.ts': {
        'the page of channels may be framed': ["frame-ancestors 'none'; ", ''],
        'the page of channels loads pictures from anywhere': ['img-src data:', 'img-src *'],
      },
      'src/service/push/client-files.ts': {
        'a file of the client, opened as a page, loads from anywhere': [
          "default-src 'self'",
          'default-src *',
        ],
      },
    },
  },
  {
    claim: 'With `--push-only` the demonstration endpoints are left out',
    test: { file: 'test/service/push-only.test.ts', title: 'has nothing at' },
    changes: {
      'src/service/create-service.ts': {
        'they stay': ['if (!settings.pushOnly) await addDemonstrationRoutes', 'await addDemonstrationRoutes'],
      },
    },
  },
  {
    claim: 'A request to the operator’s listener from a page of another origin is a 403, whatever its token',
    test: { file: authorize, title: 'a request from a page of another origin is a 403' },
    changes: {
      'src/operator/host-check.ts': {
        'Origin is not looked at': ['if (isOwnOrigin && isOwnSite)', 'if (isOwnSite)'],
        'another site in a frame may ask': ['if (isOwnOrigin && isOwnSite)', 'if (isOwnOrigin)'],
      },
      'src/operator/response-headers.ts': {
        'answers permit any origin': [
          "'cache-control': 'no-store',",
          "'cache-control': 'no-store', 'access-control-allow-origin': '*',",
        ],
      },
    },
  },
  {
    claim: 'A request to the operator’s listener by another host name is a 421, whatever its token',
    test: { file: authorize, title: 'is a 421, whatever the token' },
    changes: {
      'src/operator/host-check.ts': {
        'any host will do': ['if (host === undefined || !known.has(host)) {', 'if (host === undefined) {'],
        'the port is not looked at': [
          '!known.has(host)',
          '![...known].some((name) => name.startsWith(host.replace(/:.*/, "")))',
        ],
      },
    },
  },
  {
    claim: 'The operator’s API takes tokens in the header `Authorization` only',
    test: { file: authorize, title: 'a request without a token, with a wrong one' },
    changes: {
      'src/operator/authorize.ts': {
        'one in a cookie is taken': [
          "headers.authorization ?? ''",
          "headers.authorization ?? `Bearer ${headers.cookie?.split('=')[1]}`",
        ],
        'what follows the token does not matter': ['{1,200})$/i', '{1,200})/i'],
      },
    },
  },
  {
    claim: 'The token of an operator who is removed is refused at once, and its sessions end',
    test: { file: access, title: 'when its operator is removed' },
    changes: {
      'src/store/operators.ts': {
        'it keeps its role': [
          'delete from deskbell.operators where',
          'update deskbell.operators set name = name where',
        ],
      },
    },
  },
  {
    claim: 'The cookie of the console is `HttpOnly` and `SameSite=Strict`, and secure where the listener is',
    test: { file: access, title: 'the cookie is for the console and the browser alone' },
    changes: {
      'src/operator/console/session-cookie.ts': {
        'scripts read it': ["'HttpOnly',", ''],
        'links from elsewhere carry it': ["'SameSite=Strict'", "'SameSite=Lax'"],
        'it goes in the clear': ["...(isSecure ? ['Secure'] : []),", ''],
      },
    },
  },
  {
    claim: 'A form of the console must come from a page of its origin, with the token of its session',
    test: { file: access, title: 'what changes something needs the token of the session' },
    changes: {
      'src/operator/console/require-session.ts': {
        'the origin need not be named': [
          '!isSafe(request.method) && request.headers.origin === undefined',
          'false as boolean',
        ],
        'the token is not looked at': [
          'if (isOwnForm(request.body, consoleSession)) return done();',
          'return done();',
        ],
      },
    },
  },
  {
    claim: 'Pages of the console load only their own files and cannot be framed',
    test: { file: access, title: 'every answer keeps browsers from framing it' },
    changes: {
      'src/operator/console/page-headers.ts': {
        'they may be framed': ['"frame-ancestors \'none\'",', ''],
        'scripts may come from anywhere': ['"script-src \'self\'"', '"script-src *"'],
        'they may ask anybody': ['"connect-src \'self\'"', '"connect-src *"'],
        'forms may be sent anywhere': ['"form-action \'self\'"', '"form-action *"'],
      },
      'src/operator/console/add-console.ts': {
        'a page that says what is wrong may be framed': [
          'reply.code(status).headers(pageHeaders);',
          "reply.code(status).header('content-type', 'text/html; charset=utf-8');",
        ],
      },
    },
  },
  {
    claim: 'Text from push services and users is plain text on every page of the console',
    test: {
      file: 'test/operator/console-pages.test.ts',
      title: 'what strangers wrote is text on every page',
    },
    changes: {
      'src/http/description/html.ts': { 'it is markup': [': escapeHtml(String(part));', ': String(part);'] },
    },
  },
  {
    claim: 'The console takes a token from a form of its own page alone',
    test: { file: access, title: 'a token is taken from the form of a page of the console alone' },
    changes: {
      'src/operator/console/require-session.ts': {
        'who signs in need not name the origin': [
          'if (!isSafe(request.method) && request.headers.origin',
          'if (!isOpen && !isSafe(request.method) && request.headers.origin',
        ],
      },
    },
  },
  {
    claim: 'A client has ten attempts a minute to sign in to the console',
    test: { file: access, title: 'a client has ten attempts a minute' },
    changes: {
      'src/operator/console/sign-in.ts': {
        'it has more': ['const attemptsPerMinute = 10;', 'const attemptsPerMinute = 100;'],
        'it has them in half a minute': ['timeWindow: 60_000', 'timeWindow: 30_000'],
      },
    },
  },
  {
    claim: 'Signing in leads to pages of the console only',
    test: { file: access, title: 'signing in leads to pages of the console only' },
    changes: {
      'src/operator/console/sign-in.ts': {
        'it leads anywhere': ["typeof to === 'string' && /^", "typeof to === 'string' && /|^"],
      },
    },
  },
  {
    claim:
      'A body has at most 64 KiB at the operator’s API, 128 KiB for a broadcast, and 4 KiB at the console, 256 KiB for a message',
    test: { file: wrongRequests, title: 'a body that is too long is told the limit of its own route' },
    changes: {
      'src/operator/api/add-api.ts': {
        'it may be longer': ['const bodyLimitBytes = 64 * 1024;', 'const bodyLimitBytes = 256 * 1024;'],
      },
      'src/operator/api/broadcast-requests.ts': {
        'a broadcast has no limit of its own': ['bodyLimit = 128 * 1024', 'bodyLimit = 64 * 1024'],
      },
      'src/operator/console/forms.ts': {
        'a form may be longer': ['const bodyLimitBytes = 4096;', 'const bodyLimitBytes = 65_536;'],
      },
      'src/operator/console/pages/send.ts': {
        'a message may be longer': ['const bodyLimit = 256 * 1024;', 'const bodyLimit = 512 * 1024;'],
        'a draft has the limit of other forms': ["'/send/draft', { bodyLimit,", "'/send/draft', {"],
        'a test in the browser has the limit of other forms': [
          "{ bodyLimit, config: { audit: { action: 'message.send' } } }",
          "{ config: { audit: { action: 'message.send' } } }",
        ],
      },
    },
  },
  {
    claim:
      'The operator’s listener reads 16 KiB of headers, and waits for requests as long as the public service does',
    test: { file: authorize, title: 'without options it has the limits of the public service' },
    changes: {
      'src/operator/create-operator.ts': {
        'it reads more': ['{ ...options, trustProxy:', '{ ...options, maxHeaderBytes: 65_536, trustProxy:'],
        'it waits without end': [
          '{ ...options, trustProxy:',
          '{ ...options, requestTimeoutMs: 0, trustProxy:',
        ],
      },
    },
  },
  {
    claim: 'Key files are created with mode 0600 in a directory with mode 0700',
    test: { file: keyFile, title: 'mode 0700' },
    changes: {
      'src/cli/data/data-directory.ts': { 'others may read the directory': ['0o700', '0o755'] },
    },
  },
  {
    claim: 'The keys of subscriber tokens and of webhooks are made when they are first needed',
    test: { file: keyFile, title: 'the first run makes everything' },
    changes: {
      'src/cli/data/data-directory.ts': {
        'that of subscriber tokens is made at once': [
          "const sessionKey = await loadOrCreateSecret(directory, 'session-key');",
          "const sessionKey = await loadOrCreateSecret(directory, 'session-key'); await loadOrCreateSecret(directory, 'subscriber-token-key');",
        ],
      },
    },
  },
  {
    claim: 'Only the owner can read a file that holds secrets',
    test: { file: keyFile, title: 'nobody but the owner may read the files' },
    changes: {
      'src/keys/private-file.ts': {
        'others may read it': ['const ownerOnly = 0o600;', 'const ownerOnly = 0o644;'],
      },
    },
  },
  {
    claim: 'A key file that others may read, and a directory that they may write to, are refused',
    test: { file: keyFile, title: 'is refused' },
    changes: {
      'src/keys/private-file.ts': {
        'a file that others may read is used': ['if (isOpenToOthers(stats)) {', 'if (false as boolean) {'],
      },
      'src/keys/file-permissions.ts': {
        'a file that others may run is used': ['groupAndOthers = 0o077', 'groupAndOthers = 0o066'],
        'a file that others may write to is used': ['groupAndOthers = 0o077', 'groupAndOthers = 0o075'],
        'the group may write to the directory': [
          'writeByGroupOrOthers = 0o022',
          'writeByGroupOrOthers = 0o002',
        ],
        'others may write to the directory': ['writeByGroupOrOthers = 0o022', 'writeByGroupOrOthers = 0o020'],
      },
    },
  },
  {
    claim: 'Files of root are accepted, and a user uses a directory of its own',
    test: { file: 'test/keys/owners.test.ts', title: 'a user uses a directory of its own' },
    changes: {
      'src/keys/file-permissions.ts': {
        'those of root are refused': ['|| uid === self || uid === 0)', '|| uid === self)'],
        'those of anybody are accepted': ['|| uid === self || uid === 0)', '|| uid === self || uid >= 0)'],
        'root alone looks at the owner of a directory': [
          '  assertOwned(directory, stats);',
          '  if (process.geteuid?.() === 0) assertOwned(directory, stats);',
        ],
      },
    },
  },
  {
    claim: 'By default the service listens on 127.0.0.1',
    test: { file: 'test/cli/configuration.test.ts', title: 'without any source every entry has its default' },
    changes: {
      'src/cli/configuration/configuration.ts': {
        'it listens on every address': ["default: '127.0.0.1',", "default: '0.0.0.0',"],
      },
    },
  },
  {
    claim: 'By default the local push service listens on 127.0.0.1, as a library',
    test: { file: 'test/push-service/control.test.ts', title: 'by default nobody reaches it by another' },
    changes: {
      'src/push-service/start-push-service.ts': {
        'it listens on every address': ["host = '127.0.0.1'", "host = '0.0.0.0'"],
      },
    },
  },
  {
    claim: 'By default the local push service listens on 127.0.0.1, as a command',
    test: { file: 'test/cli/push-service.test.ts', title: 'it prints its addresses' },
    changes: {
      'src/cli/commands/push-service.ts': {
        'it listens on every address': [
          "'Address to listen on.', '127.0.0.1'",
          "'Address to listen on.', '0.0.0.0'",
        ],
      },
    },
  },
  {
    claim: 'The control resource of the local push service answers every local user, and no web page',
    test: { file: 'test/push-service/control.test.ts', title: 'a web page may not ask' },
    changes: {
      'src/push-service/control.ts': {
        'pages of other sites may ask': [
          'if (headers.origin !== undefined ||',
          'if (headers.origin === "null" ||',
        ],
        'what a browser sends without Origin is answered': [
          " || headers['sec-fetch-site'] !== undefined",
          '',
        ],
      },
    },
  },
  {
    claim: 'A sender signs each message with the pair that its subscription was made with',
    test: { file: 'test/delivery/rotated-keys.test.ts', title: 'sends single messages with either pair' },
    changes: {
      'src/delivery/message-path/signing-keys.ts': {
        'it signs with the current one': [
          'find: (publicKey) => sources.get(publicKey),',
          'find: () => sources.get(vapid.publicKey),',
        ],
      },
    },
  },
  {
    claim: 'A sender reads the key files again for a pair that it does not have',
    test: { file: 'test/delivery/rotated-keys.test.ts', title: 'sends single messages with either pair' },
    changes: {
      'src/delivery/message-path/signing-keys.ts': {
        'it has the pairs of its start alone': [
          'const found = (await readKeyRing(directory))',
          'const found = (directory === "" ? await readKeyRing(directory) : [])',
        ],
      },
    },
  },
  {
    claim: 'A sender looks again for a pair that was not in the key files before',
    test: {
      file: 'test/delivery/rotated-keys.test.ts',
      title: 'sends with a pair whose file comes later',
    },
    changes: {
      'src/delivery/message-path/signing-keys.ts': {
        'it looks once': ['now() + lookAgainAfterMs', 'now() + lookAgainAfterMs * 1e6'],
      },
    },
  },
  {
    claim:
      'At each request, a service reads from the database which key to offer, and takes no key that is retired',
    test: { file: 'test/service/vapid-key.test.ts', title: 'a service whose key the store knows' },
    changes: {
      'src/service/push/current-keys.ts': {
        'it offers the key of its start': [
          'vapidPublicKey: current.publicKey,',
          'vapidPublicKey: given.vapidPublicKey,',
        ],
        'a key that is next is taken': [
          "[...inState('previous'), ",
          "[...inState('previous'), ...inState('next'), ",
        ],
      },
    },
  },
  {
    claim: 'A service takes no key that is retired, also where it was given it as a previous one',
    test: { file: 'test/service/current-keys.test.ts', title: 'are without one that is retired' },
    changes: {
      'src/service/push/current-keys.ts': {
        'it takes those that it was given': ['...others]', '...given.previousVapidPublicKeys]'],
        'it takes any that is retired': ["[...inState('previous'), ", '[...retired, '],
      },
    },
  },
  {
    claim: 'A sender signs no longer with a pair that was retired on another machine',
    test: { file: 'test/delivery/rotated-keys.test.ts', title: 'signs no longer with a pair' },
    changes: {
      'src/delivery/message-path/signing-keys.ts': {
        'it reads its file again': [' && !retired.has(publicKey)', ''],
      },
    },
  },
  {
    claim:
      '`keys retire` refuses while subscriptions were made with the pair, and never retires the current one',
    test: { file: keyRing, title: 'the pairs of a data directory' },
    changes: {
      'src/store/vapid-keys.ts': {
        'it retires the current one': [
          "if ((yield* inState('current')) === publicKey) {",
          "if ((yield* inState('current')) === '') {",
        ],
      },
      'src/cli/data/key-rotation.ts': {
        'the private key stays': ['  await removeKeyPair(directory, publicKey);', ''],
      },
    },
  },
  {
    claim: 'A pair that subscriptions were made with is not retired without `--force`',
    test: {
      file: 'test/store/vapid-keys-suite.ts',
      title: 'a key is retired once no subscription was made with it, or by force',
    },
    changes: {
      'src/store/vapid-keys.ts': {
        'it is': ['if (count === 0 || force) yield*', 'yield*'],
        'it is not with it either': ['if (count === 0 || force) yield*', 'if (count === 0) yield*'],
      },
    },
  },
  {
    claim: '`keys retire` takes the beginning of a public key that no other one has',
    test: { file: 'test/cli/keys-rotation.test.ts', title: 'deskbell keys beside two services' },
    changes: {
      'src/cli/commands/keys-retire.ts': {
        'the first one of several is taken': [
          'found !== undefined && others.length === 0',
          'found !== undefined',
        ],
      },
    },
  },
  {
    claim: 'Where the session key is another one, every session ends',
    test: { file: sessionTest, title: 'is refused under another key' },
    changes: {
      'src/service/demonstration/session.ts': {
        'the key is not used': [
          "hkdfSync('sha256', sessionKey, '',",
          "hkdfSync('sha256', sessionKey.subarray(0, 0), '',",
        ],
      },
    },
  },
];
