// Promises of docs/security.md on strangers who register, and on push services.
import type { DocumentedPromise } from '../promise.ts';

const policyTest = 'test/protocol/endpoint-policy.test.ts';
const policy = 'src/protocol/endpoint-policy.ts';
const addresses = 'test/transport/addresses.test.ts';
const hostile = 'test/service/hostile-clients.all.test.ts';
const listener = 'test/service/http-server.test.ts';
const httpTest = 'test/service/http.test.ts';
const server = 'src/http/create-http-server.ts';
const unlistedTest = 'test/delivery/unlisted-push-services.test.ts';

export const securityOfStrangers: readonly DocumentedPromise[] = [
  {
    claim: 'An endpoint must be at a known push service or at one that the operator has added',
    test: { file: policyTest, title: 'an endpoint is refused' },
    changes: {
      [policy]: {
        'any host is admitted': [
          "if (url.port !== '' || paths === undefined) {",
          "if (paths === undefined) return undefined; if (url.port !== '') {",
        ],
        'a host is admitted that ends in the name of a known one': [
          'const known = knownHosts.get(host);',
          'const known = [...knownHosts].find(([name]) => host.endsWith(name))?.[1];',
        ],
      },
    },
  },
  {
    claim: 'A list of recipients with a push service that is neither known nor listed is sent to nobody',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'whose list holds something else than' },
    changes: {
      'src/delivery/broadcast/broadcaster.ts': {
        'any host is taken': [
          'const policy = createEndpointPolicy(settings.transport.pushServices);',
          "const policy = createEndpointPolicy(['public', ...[settings.transport.pushServices ?? []].flat()]);",
        ],
      },
    },
  },
  {
    claim: '`deskbell send` refuses a file with a push service that is neither known nor listed',
    test: { file: 'test/cli/broadcasts.test.ts', title: '--ids and --file reach these' },
    changes: {
      'src/cli/send/send-broadcast.ts': {
        'any host is taken': [
          'const policy = createEndpointPolicy(pushServices);',
          "const policy = createEndpointPolicy(['public', ...pushServices]);",
        ],
      },
    },
  },
  {
    claim: 'Paths of other APIs on the hosts of push services are refused',
    test: { file: policyTest, title: 'another API than that of subscriptions is refused' },
    changes: {
      [policy]: {
        'they are admitted': ['if (!paths.otherApis.test(path)) return', "if (path !== '') return"],
      },
    },
  },
  {
    claim: 'A push service is not connected to at an address that is not public, whatever its name is',
    test: { file: addresses, title: 'not connected to' },
    changes: {
      'src/transport/address-policy.ts': {
        'private addresses are public': [
          "parsed.range() === 'unicast' &&",
          "parsed.range() !== 'loopback' &&",
        ],
      },
      'src/transport/address-guard.ts': {
        'one public address is enough': [
          'for (const { address } of addresses) check',
          'for (const { address } of addresses.slice(0, 1)) check',
        ],
      },
    },
  },
  {
    claim: 'The address that was checked is the one that is connected to',
    test: { file: addresses, title: 'the address that was checked is the one' },
    changes: {
      'src/transport/route.ts': {
        'the name is resolved again after the check': [
          'return { host, port, addresses, addressPort: port, check };',
          'return { host, port, addresses: await resolve(host), addressPort: port, check };',
        ],
      },
    },
  },
  {
    claim: 'The address that a connection turns out to have is checked before anything is sent',
    test: { file: addresses, title: 'an address that turns inside between its check and the connection' },
    changes: {
      'src/transport/connect.ts': {
        'it is not': ["check?.(socket.remoteAddress ?? 'an unknown address');", ''],
      },
    },
  },
  {
    claim: 'Redirects of push services are never followed',
    test: { file: addresses, title: 'no redirect is followed' },
    changes: {
      'src/transport/http1.ts': {
        'one is': [
          'const { statusCode: status = 0 } = response;',
          'const { statusCode: status = 0, headers: { location } } = response; if (location) void fetch(location, { method: "POST" }).catch(() => {});',
        ],
      },
    },
  },
  {
    claim: 'A key that is no point on P-256, and an auth that has not 16 bytes, are a 400',
    test: { file: 'test/service/web-push-input.test.ts', title: 'refuses ' },
    changes: {
      'src/protocol/subscription.ts': {
        'any 65 bytes are a key': ['!isP256Point(p256dh)', 'p256dh.length !== 65'],
        'an auth of any length is taken': [
          'if (bytes?.length === length)',
          "if (bytes?.length === length || (bytes && name === 'auth'))",
        ],
      },
    },
  },
  {
    claim: 'A body of the public service has at most 16 KiB',
    test: { file: 'test/service/web-push-input.test.ts', title: 'refuses a body' },
    changes: {
      'src/http/json-body.ts': {
        'it may be longer': ['defaultBodyLimitBytes = 16_384', 'defaultBodyLimitBytes = 65_536'],
      },
    },
  },
  {
    claim: 'A body of each route of the public service has at most 16 KiB',
    test: { file: 'test/service/session.test.ts', title: 'has a body of 16 KiB at most, at each route' },
    changes: {
      'src/service/push/receipts.ts': {
        'that of receipts may be longer': [
          '      schema: { body },',
          '      schema: { body }, bodyLimit: 65_536,',
        ],
      },
    },
  },
  {
    claim: 'The headers of a request have at most 16 KiB',
    test: { file: hostile, title: 'is answered 431' },
    changes: {
      [server]: { 'they may be longer': ['?? 16_384', '?? 262_144'] },
    },
  },
  {
    claim: 'A client that sends its body slowly is answered 408',
    test: { file: hostile, title: 'sends its body byte by byte is answered 408' },
    changes: {
      [server]: {
        'it may take any time': ['requestTimeout = options.requestTimeoutMs ??', 'requestTimeout = 0 ??'],
      },
    },
  },
  {
    claim:
      'Without options a service has time limits, 10,000 connections, and 60 registrations and 600 reports a minute for each client',
    test: { file: hostile, title: 'a service without options has its limits' },
    changes: {
      'src/http/time-limits.ts': {
        'headers have a minute': ['headersTimeoutMs: 10_000', 'headersTimeoutMs: 60_000'],
        'connections that are not used are kept for a minute': [
          'keepAliveTimeoutMs: 10_000',
          'keepAliveTimeoutMs: 60_000',
        ],
      },
      [server]: {
        'any number of connections is taken': [
          'options.maxConnections ?? 10_000',
          'options.maxConnections ?? 0',
        ],
        'headers may have a little more': ['?? 16_384', '?? 17_408'],
        'who is too slow is noticed a minute later': [
          '?? defaultTimeLimits.timeoutCheckIntervalMs',
          '?? 60 * defaultTimeLimits.timeoutCheckIntervalMs',
        ],
        'who does not read is waited for longer': [
          '?? defaultTimeLimits.readTimeoutMs',
          '?? 2 * defaultTimeLimits.readTimeoutMs',
        ],
      },
      'src/service/push/rate-limit.ts': {
        'registrations are not limited': [
          'defaultRegistrationsPerMinute = 60;',
          'defaultRegistrationsPerMinute = 6000;',
        ],
        'reports are not limited': ['defaultReceiptsPerMinute = 600;', 'defaultReceiptsPerMinute = 6000;'],
      },
    },
  },
  {
    claim: 'A connection with more than 32 requests that wait for their responses is closed',
    test: { file: hostile, title: 'pipelines' },
    changes: {
      'src/http/open-responses.ts': {
        'any number may wait': ['if (open.length > maxOpenResponses) socket.destroy();', ''],
        'one less may wait': ['const maxOpenResponses = 32;', 'const maxOpenResponses = 31;'],
        'one more may wait': ['const maxOpenResponses = 32;', 'const maxOpenResponses = 33;'],
        'those that are answered count': ['open.splice(0, finished);', ''],
        'what has arrived with them is handled': ['return !socket.destroyed;', 'return true;'],
      },
    },
  },
  {
    claim: 'What a client sends after a request that is not valid costs no memory',
    test: { file: hostile, title: 'goes on sending after a request that is not valid' },
    changes: {
      'src/http/client-errors.ts': {
        'each piece is kept until the response before it is sent': ['if (socket[isRejected]) return;', ''],
      },
    },
  },
  {
    claim: 'A request that is too large gets its answer, although the client is still sending',
    test: { file: hostile, title: 'is still sending headers that are too large' },
    changes: {
      'src/http/client-errors.ts': {
        'the next piece closes the connection': ['if (socket[isRejected]) return;', ''],
      },
    },
  },
  {
    claim: 'Slow readers are disconnected over TLS as over HTTP',
    test: { file: listener, title: 'a client that does not read its answer is disconnected' },
    changes: {
      'src/http/unread-responses.ts': {
        'over HTTP alone': [".on('secureConnection', watch)", ''],
        'over TLS alone': [".on('connection', watch)", ''],
      },
    },
  },
  {
    claim: 'The limits hold on every address of localhost',
    test: { file: listener, title: 'localhost' },
    changes: {
      'src/http/localhost.ts': {
        'the second one is not served': [
          'for (const { address } of rest) others',
          'for (const { address } of rest.slice(9)) others',
        ],
        'its server listens when the server is closed': ['other.close(() => ended())', 'ended()'],
        'a server listens after it is closed': ['if (isClosed) return;', ''],
      },
      [server]: {
        'Fastify makes the server': [
          'serveAllOfLocalhost(app, tls !== undefined, findAddresses);',
          'void [serveAllOfLocalhost, findAddresses];',
        ],
      },
    },
  },
  {
    claim: 'A TLS handshake that does not end is given up, and keeps no server that is closed',
    test: { file: listener, title: 'TLS' },
    changes: {
      [server]: {
        'it has two minutes': [', handshakeTimeout: headersTimeout', ''],
        'connections that have not spoken yet are left': [
          'for (const socket of open) socket.destroy();',
          'app.server.closeAllConnections();',
        ],
      },
    },
  },
  {
    claim:
      'Registrations are limited for each client address, which is that of the connection unless a proxy is trusted',
    test: { file: httpTest, title: 'POST /webPush' },
    changes: {
      'src/service/push/rate-limit.ts': {
        'there is no limit': ['      max,', '      max: 1000 * max,'],
        'it is one of less than a minute': ['timeWindow: 60_000', 'timeWindow: 30_000'],
      },
      'src/service/push/add-push-routes.ts': {
        'each page has a limit of its own': [
          'global: false,',
          "global: false, keyGenerator: ({ ip, headers }) => `${ip} ${headers.origin ?? ''}`,",
        ],
      },
      [server]: {
        'any client may say who it is': [
          'trustProxy: (options.trustProxy ?? false) as boolean | string',
          'trustProxy: true',
        ],
      },
    },
  },
  {
    claim: 'There is one row for each endpoint, however it is spelled',
    test: { file: 'test/store/endpoint-spellings-suite.ts', title: 'all of them' },
    changes: {
      'src/protocol/endpoint.ts': {
        'each spelling is an endpoint': [
          'parsed?.hasNormalAuthority === true ?',
          'parsed?.authority === "" ?',
        ],
      },
    },
  },
  {
    claim: '`maxSubscriptions` limits the total, and never blocks an update',
    test: { file: 'test/store/endpoint-spellings-suite.ts', title: 'a new row beyond it is refused' },
    changes: {
      'src/store/subscription-limit.ts': {
        'there is no limit': ['    if (this.#capacity < inserts) {', '    if (inserts < 0) {'],
      },
      'src/store/postgres/write-queue.ts': {
        'an update is refused with a new row beside it': [
          "(error.code === 'ERR_FIELD_VALUE' || error.code === 'ERR_SUBSCRIPTION_LIMIT')",
          "error.code === 'ERR_FIELD_VALUE'",
        ],
      },
    },
  },
  {
    claim: 'With `--push-services public`, a host must be a public name',
    test: { file: 'test/protocol/public-hosts.test.ts', title: 'is refused' },
    changes: {
      'src/protocol/endpoint-policy.ts': {
        'any name is admitted': ['return isPublicHost(url.hostname)', 'return url.hostname'],
      },
      'src/protocol/unlisted-push-services.ts': {
        'names of a network at home are public': ['|home|', '|'],
        'names of a local network are public': ['|lan|', '|'],
        'names for examples are public': ['|example|', '|'],
        'names for tests are public': ["|test)';", ")';"],
        'names of other systems are public': ['(?:alt|', '(?:'],
        'a label may be longer than any name has': ['{0,61}', '{0,62}'],
      },
    },
  },
  {
    claim: 'With `--push-services public`, no address that is not public is connected to either',
    test: { file: addresses, title: 'a wildcard addition, and "public"' },
    changes: {
      'src/transport/create-transport.ts': {
        'any is': [
          'guardsAddresses ? policy.isNamedOrigin',
          "guardsAddresses && options.pushServices !== 'public' ? policy.isNamedOrigin",
        ],
      },
    },
  },
  {
    claim: 'There are at most `maxPushServices` push services that are neither known nor listed',
    test: { file: 'test/store/unlisted-push-services-suite.ts', title: 'are as many as there may be' },
    changes: {
      'src/store/unlisted-push-services.ts': {
        'there is no limit': [">= max) return 'full'", "< 0) return 'full'"],
      },
    },
  },
  {
    claim: 'There are at most 100 of them where nothing else is configured',
    test: {
      file: 'test/service/unlisted-push-services.test.ts',
      title: 'a hundred push services that nobody has listed',
    },
    changes: {
      'src/service/push/unlisted-push-services.ts': {
        'there may be more': ['= defaultMaxPushServices', '= 2 * defaultMaxPushServices'],
      },
    },
  },
  {
    claim: 'A push service that is not listed gets 60 new subscriptions a minute',
    test: { file: 'test/service/unlisted-push-services.test.ts', title: 'more than sixty new subscriptions' },
    changes: {
      'src/service/push/unlisted-push-services.ts': {
        'nobody counts': ['if (requests <= max)', 'if (requests > 0)'],
        'nobody says how long to wait': ["reply.header('retry-after', String(seconds));", ''],
        'those of all ports of a host are one': ['{ origin, host } =', '{ origin, hostname: host } ='],
        'it gets them in half a minute': ['const windowMs = 60_000;', 'const windowMs = 30_000;'],
      },
    },
  },
  {
    claim: 'A push service that is not listed gets ten messages of broadcasts a second',
    test: { file: unlistedTest, title: 'takes as long as its rate says' },
    changes: {
      'src/delivery/worker/worker.ts': {
        'they have no rate': ['isUnlisted ? unlistedLimits.perSecond', 'false ? unlistedLimits.perSecond'],
      },
    },
  },
  {
    claim:
      'A push service that is not listed keeps its rate, also for a worker that has only rows that were put off',
    test: { file: unlistedTest, title: 'a worker keeps to the rate of a host' },
    changes: {
      'src/delivery/worker/worker.ts': {
        'they have no rate': [
          'isUnlisted ? unlistedLimits.perSecond',
          'isUnlisted && !isReturning ? unlistedLimits.perSecond',
        ],
      },
    },
  },
  {
    claim: 'A push service that is not listed gets ten single messages a second',
    test: { file: unlistedTest, title: 'single messages to a host that nobody has listed wait' },
    changes: {
      'src/delivery/limits/single-message-rates.ts': {
        'they have no rate': ['if (!isUnlisted) return', 'if (isUnlisted || !isUnlisted) return'],
      },
    },
  },
  {
    claim: 'A push service that is not listed gets two connections',
    test: { file: unlistedTest, title: 'gets two connections' },
    changes: {
      'src/transport/origin.ts': {
        'it gets as many as others': ['if (this.#isUnlisted) return', 'if (false) return'],
      },
    },
  },
  {
    claim: 'A 429 of a push service that is not listed holds one subscription, not the others',
    test: { file: unlistedTest, title: 'keep no message of another subscription' },
    changes: {
      'src/transport/admission.ts': {
        'it counts as a failure of all': [
          "return outcome.reason !== 'throttled' || outcome.slowsOrigin;",
          'return true;',
        ],
      },
    },
  },
  {
    claim:
      'ntfy’s 507 for a topic without a subscriber ends the subscription with the tenth attempt, and no other 507 does',
    test: { file: unlistedTest, title: '507' },
    changes: {
      'src/protocol/ntfy.ts': {
        'any 507 does': [
          'status === 507 && withoutSubscriber.test(body)',
          'status === 507 && body.length > 0',
        ],
      },
      'src/delivery/worker/record.ts': {
        'the first attempt does': ['outcome.isGoneAtLast && attempt >=', 'outcome.isGoneAtLast && 99 >='],
      },
    },
  },
  {
    claim: 'Removing and signing out need `auth`, and their answer does not reveal whether it was right',
    test: { file: httpTest, title: 'answers alike, and removes nothing' },
    changes: {
      'src/service/push/web-push.ts': {
        'the answer tells whether there is a row': [
          'const stored = onUnsubscribe && (await store.subscriptions.findByEndpoint(endpoint));',
          'const stored = await store.subscriptions.findByEndpoint(endpoint); if (stored === undefined) throw new Error("none");',
        ],
        'that to signing out does': [
          'await store.people.signOut(endpoint, auth);',
          'if (!(await store.people.signOut(endpoint, auth), await store.subscriptions.findByEndpoint(endpoint))) throw new Error("none");',
        ],
      },
      'src/store/sqlite/user-and-tags.ts': {
        'any auth will do': [
          'row !== undefined && isSameSecret(row.auth, auth)',
          'row !== undefined && isSameSecret(auth, auth)',
        ],
      },
    },
  },
  {
    claim: 'Secrets are compared in constant time',
    test: { file: 'test/service/registrations.test.ts', title: 'secrets are compared in constant time' },
    changes: {
      'src/protocol/same-secret.ts': {
        'the time tells how many bytes are right': ['timingSafeEqual(a, b)', 'Buffer.compare(a, b) === 0'],
      },
      'src/protocol/message/receipt-token.ts': {
        'that of a receipt does': [
          '!isSameSecret(mac, token.slice(idsLength))',
          'mac !== token.slice(idsLength)',
        ],
      },
      'src/service/push/channels.ts': {
        'that of a choice of channels does': [
          'isSameSecret(row.auth, authBytes)',
          'Buffer.from(row.auth).equals(authBytes)',
        ],
      },
      'src/service/push/invitation.ts': {
        'that of a renewal with an invitation does': [
          'isSameSecret(formerRow.auth, former!.auth)',
          'Buffer.from(formerRow.auth).equals(former!.auth)',
        ],
      },
      'src/store/registration-right.ts': {
        'that of the proof for new keys does': [
          'isSameSecret(row.auth, auth))',
          'Buffer.from(row.auth).equals(auth))',
        ],
      },
    },
  },
  {
    claim: 'PostgreSQL compares secrets by their hashes, whoever asks',
    test: { file: 'test/store/postgres-database.test.ts', title: 'compares secrets by their hashes' },
    changes: {
      'src/store/postgres/functions/subscriptions.sql': {
        'the time tells how many bytes are right': [
          'select sha256(one) = sha256(other)',
          'select one = other',
        ],
      },
      'src/store/postgres/people.ts': {
        'that of signing out does': ['${functions}.is_same_secret(auth, $2)', 'auth = $2'],
      },
    },
  },
  {
    claim: 'A user is never taken from the body of a registration',
    test: { file: 'test/service/subscriber-token.test.ts', title: 'a subscriber token' },
    changes: {
      'src/service/push/web-push.ts': {
        'it is': [
          'const assign = await readSubscriberToken(request, reply);',
          'const { user } = request.body as { user?: string }; const assign = user ? { user } : await readSubscriberToken(request, reply);',
        ],
      },
    },
  },
  {
    claim:
      'An invitation has 128 random bits, is stored as a hash, and its token is in the fragment of the link',
    test: { file: 'test/cli/invite.test.ts', title: 'a link of `deskbell invite`' },
    changes: {
      'src/cli/commands/invite.ts': {
        'it has fewer': ['randomBytes(16)', 'randomBytes(8)'],
        'the token itself is stored': ['tokenHash: hashInvitation(token)', 'tokenHash: Buffer.from(token)'],
        'it is in the query': ['#invitation=', '?invitation='],
      },
    },
  },
  {
    claim:
      'A subscriber token is valid for an hour at most, for one audience, and with the configured algorithm',
    test: { file: 'test/service/subscriber-token.test.ts', title: 'that ' },
    changes: {
      'src/service/push/subscriber-token.ts': {
        'it is valid for longer': [
          'if (seconds > maxLifetimeSeconds + clockToleranceSeconds) {',
          'if (seconds > 24 * maxLifetimeSeconds) {',
        ],
        'it needs no end': ["['exp', 'sub']", "['sub']"],
        'one for any audience is taken': ['      audience,', ''],
        'its own algorithm is taken': ['      algorithms,', ''],
        'another HMAC is taken': ["? ['HS256'] :", "? ['HS256', 'HS512'] :"],
      },
    },
  },
  {
    claim: 'Control, bidirectional and invisible characters of strangers are printed as escapes',
    test: { file: 'test/service/log.test.ts', title: 'shows no character that a terminal obeys' },
    changes: {
      'src/errors/escape-controls.ts': {
        'bidirectional and invisible ones are not': ['[\\p{Cc}\\p{Cf}\\p{Zl}', '[\\p{Cc}\\p{Zl}'],
        'controls are not': ['[\\p{Cc}\\p{Cf}\\p{Zl}', '[\\p{Cf}\\p{Zl}'],
      },
    },
  },
  {
    claim:
      'Titles and texts in the console have no control character, and none that turns further text around',
    test: { file: 'test/errors/escape-controls.test.ts', title: 'escapes controls and what turns' },
    changes: {
      'src/errors/escape-controls.ts': {
        'they have isolates': [String.raw`\u202A-\u202E\u2066-\u2069]`, String.raw`\u202A-\u202E]`],
        'they have embeddings': [String.raw`\u202A-\u202E\u2066`, String.raw`\u2066`],
        'they have controls': [String.raw`[^\P{Cc}\n\t]|`, ''],
      },
    },
  },
  {
    claim:
      'A command writes control characters of strangers as escapes, on standard output and standard error',
    test: { file: 'test/cli/printer.test.ts', title: 'controls of strangers are escaped wherever' },
    changes: {
      'src/cli/output/output.ts': {
        'lines have them': ['${clearLive()}${toPrintable(text)}\\n', '${clearLive()}${text}\\n'],
        'diagnostics have them': ['stderr.write(`${toPrintable(text)}', 'stderr.write(`${text}'],
        'the line that changes has them': ['toPrintable(text).slice(', 'text.slice('],
      },
    },
  },
  {
    claim: 'The answer to a wrong request has no character of it that a terminal obeys',
    test: { file: 'test/operator/wrong-requests.test.ts', title: 'several wrong members are named' },
    changes: {
      'src/http/problem.ts': {
        'it has': ['escapeControls(JSON.stringify(problem))', 'JSON.stringify(problem)'],
      },
    },
  },
  {
    claim:
      'TLS with a push service checks its certificate, against the authorities that Node trusts and those in `ca`',
    test: {
      file: 'test/cli/doctor.test.ts',
      title: 'tells of each push service, and of a clock that is wrong',
    },
    changes: {
      'src/transport/connect.ts': {
        'any certificate is taken': [
          'ALPNProtocols: alpnProtocols,',
          'ALPNProtocols: alpnProtocols, rejectUnauthorized: false,',
        ],
        'the certificate of another host is taken': [
          '=> checkServerIdentity(host, certificate)',
          '=> void [checkServerIdentity, certificate]',
        ],
      },
    },
  },
  {
    claim: '`ca` adds to the authorities that Node trusts, and replaces none',
    test: {
      file: 'test/transport/origin.test.ts',
      title: 'authorities in `ca` are trusted besides those that Node trusts',
    },
    changes: {
      'src/transport/trust.ts': {
        'it replaces them': [
          "{ ca: [...getCACertificates('default'), ...ca] }",
          "{ ca: [...getCACertificates('default').slice(0, 0), ...ca] }",
        ],
      },
    },
  },
  {
    claim: 'Of the body of an answer, so much is read, and its time is limited',
    test: { file: 'test/transport/http1.test.ts', title: 'cut there, and ends the connection' },
    changes: {
      'src/transport/response-body.ts': {
        'it is read on': ['return copied === end - start;', 'return copied >= 0;'],
      },
    },
  },
  {
    claim: 'What is quoted of an answer has no half of a character, however it is cut',
    test: { file: 'test/protocol/outcome.test.ts', title: 'what is quoted is short and shows no endpoint' },
    changes: {
      'src/errors/cut-text.ts': {
        'a pair of surrogates is cut in two': ["replace(/[\\uD800-\\uDBFF]$/, '')", "replace(/^$/, '')"],
      },
    },
  },
  {
    claim: 'No words of a push service keep PostgreSQL from storing what came of a page',
    test: {
      file: 'test/store/attempts-suite.ts',
      title: 'words that PostgreSQL refuses do not keep a page from being committed',
    },
    changes: {
      'src/store/postgres/ledger.ts': {
        'its words are passed on as they are': ["refused === undefined ? escape : '\\ufffd',", 'escape,'],
      },
    },
  },
  {
    claim: 'Where nothing else is configured, an answer may take thirty seconds',
    test: { file: 'test/transport/origin.test.ts', title: 'without options, an answer may take thirty' },
    changes: {
      'src/transport/create-transport.ts': {
        'it may take longer': [
          '?? defaultTimeouts.responseTimeoutMs',
          '?? 2 * defaultTimeouts.responseTimeoutMs',
        ],
      },
    },
  },
  {
    claim: 'A push service that keeps failing is left alone for a while',
    test: { file: 'test/transport/breaker.test.ts', title: 'ten bad answers in a row open it for a second' },
    changes: {
      'src/transport/breaker.ts': {
        'it is asked on': ['this.#failuresInRow >= maxFailuresInRow', 'this.#failuresInRow < 0'],
        'for no time': ['const firstOpenMs = 1000;', 'const firstOpenMs = 1;'],
      },
    },
  },
  {
    claim: 'DNS servers that do not answer for hosts of strangers keep no message from a listed push service',
    test: {
      file: 'test/transport/name-lookups.test.ts',
      title: 'silent DNS servers of strangers keep no message',
    },
    changes: {
      'src/transport/route.ts': {
        'their names are resolved as all others are': ['isStrange ? withDns : resolve', 'resolve'],
      },
    },
  },
  {
    claim: 'A look-up of a stranger’s host ends with the attempt to connect to it',
    test: { file: 'test/transport/name-lookups.test.ts', title: 'a look-up by DNS ends when it is not' },
    changes: {
      'src/transport/address-guard.ts': {
        'it goes on': ["signal.addEventListener('abort', cancel);", ''],
      },
    },
  },
  {
    claim: 'A VAPID token is for the origin of the push service and valid for twelve hours',
    test: { file: 'test/protocol/rfc8292.test.ts', title: 'a token of ours names the origin with its port' },
    changes: {
      'src/protocol/vapid-token.ts': { 'it is valid for a day': ['= 12 * 60 * 60', '= 24 * 60 * 60'] },
    },
  },
  {
    claim: 'A message is never sent after its TTL',
    test: {
      file: 'test/delivery/retry-policy.test.ts',
      title: 'a retry that would come at the end of the TTL',
    },
    changes: {
      'src/delivery/worker/retry-policy.ts': {
        'a retry may come later': ['nowMs + delayMs >= tries.expiresAtMs ?', 'delayMs < 0 ?'],
      },
    },
  },
  {
    claim: 'The length of a language tag, or of the name of a time zone, is checked before it is looked up',
    test: {
      file: 'test/audience/readers.test.ts',
      title: 'a language or time zone that is too long is none',
    },
    changes: {
      'src/protocol/language.ts': {
        'that of a language is not': [' || language.length > maxLanguageCharacters', ''],
        'one more is taken': ['language.length > max', 'language.length > 1 + max'],
      },
      'src/audience/reader-facts.ts': {
        'that of a time zone is not': ['if (timeZone.length > maxTimeZoneCharacters) return undefined;', ''],
      },
    },
  },
  {
    claim: 'The length of an endpoint is checked before it is read, and again with the path that it gets',
    test: { file: policyTest, title: '4096 characters are admitted' },
    changes: {
      [policy]: {
        'it is read first': [
          'if (endpoint.length > maxEndpointLength) return',
          'if (endpoint === "") return',
        ],
        'the path may be one longer': ['if (length > maxEndpointLength) return', 'if (length < 0) return'],
      },
    },
  },
  {
    claim: 'The length of a user is checked before its characters',
    test: { file: 'test/audience/user-and-tags.test.ts', title: 'a user is 1 to 128 bytes' },
    changes: {
      'src/audience/user-and-tags.ts': {
        'it is checked after them': [
          '  const bytes = Buffer.byteLength(user);',
          "  if (/\\p{Cc}/u.test(user)) throw fieldError('ERR_FIELD_VALUE', pointer, 'No.'); const bytes = Buffer.byteLength(user);",
        ],
      },
    },
  },
  {
    claim: 'The length of a tag is checked before its characters are put into one form',
    test: { file: 'test/audience/user-and-tags.test.ts', title: 'a tag that is too long is refused before' },
    changes: {
      'src/audience/user-and-tags.ts': {
        'it is checked afterwards': [
          'const normalized = name.length > maxSpelledCharacters',
          "const normalized = name.normalize('NFC').length > maxSpelledCharacters",
        ],
      },
    },
  },
];
