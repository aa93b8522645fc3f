// The operator's listener: an HTTP server beside the public one, on loopback unless configured otherwise.
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createWarningReader, type ReadWarnings } from '../delivery/alarms/installation-warnings.ts';
import { createProgressReader } from '../delivery/broadcast/progress.ts';
import { operatorErrors } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { isLoopback, readForwarded } from '../http/client-address.ts';
import { createHttpServer, type HttpServerOptions, type TlsFiles } from '../http/create-http-server.ts';
import { assertHost } from '../http/client-errors.ts';
import { type ResponseRules, sendProblems } from '../http/problem.ts';
import type { SchemaTypeProvider } from '../http/schema.ts';
import { bellsPath, handleUnknownPaths } from '../http/unknown-paths.ts';
import { addBells } from '../bells/add-bells.ts';
import type { BellParts } from '../bells/ring.ts';
import { defaultBellsPerMinute } from '../store/bells.ts';
import { addApi } from './api/add-api.ts';
import { auditChanges } from './audit-changes.ts';
import { requireToken } from './authorize.ts';
import { addConsole } from './console/add-console.ts';
import type { OperatorContext } from './context.ts';
import { addMetricsRoute } from './metrics/metrics.ts';
import { compileValidator } from './validator.ts';

/** Keeps responses out of caches, frames and other origins. */
const responseHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;

/**
 * Permits a listener without TLS only on loopback or behind a proxy that provides TLS.
 *
 * @param isSecure true if the listener, or a proxy in front of it, uses TLS
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
function requireTls(host: string, isSecure: boolean): void {
  if (isLoopback(host) || isSecure) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `The operator’s listener on ${host} can be reached from other machines, and its tokens must not be sent ` +
      'unencrypted: give --operator-cert and --operator-key, or --operator-behind-proxy if a proxy provides TLS.',
  );
}

// The listener accepts only requests to its own addresses and from its own pages. It checks the Host header, because
// another site's name can resolve to this machine (DNS rebinding). It also checks Origin, because cookies ignore ports:
// pages of the public listener count as the same site.

export interface HostCheckSettings {
  readonly host: string;
  /** Other allowed hosts, such as `ops.example.org`, with a port if it differs from the listener's. */
  readonly hosts: readonly string[];
  /** True if browsers reach the listener over https. */
  readonly isSecure: boolean;
}

/** Call this before any route is added. */
export function checkHost(app: FastifyInstance, settings: HostCheckSettings): void {
  let known: ReadonlySet<string> | undefined;
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.anyHost) return done();
    known ??= hostsOf(settings, (app.server.address() as AddressInfo).port);
    done(faultOf(request, known, settings.isSecure));
  });
}

function hostsOf({ host, hosts, isSecure }: HostCheckSettings, port: number): ReadonlySet<string> {
  const names = isLoopback(host) ? ['127.0.0.1', 'localhost', '[::1]', bracket(host)] : [bracket(host)];
  const isDefaultPort = port === (isSecure ? 443 : 80);
  const withPort = [...names, ...hosts].flatMap((name) => {
    const isOwn = names.includes(name);
    return [`${name}:${port}`, ...(isOwn && !isDefaultPort ? [] : [name])];
  });
  return new Set(withPort.map((name) => name.toLowerCase()));
}

const bracket = (host: string): string => (host.includes(':') ? `[${host}]` : host);

function faultOf(
  { headers }: FastifyRequest,
  known: ReadonlySet<string>,
  isSecure: boolean,
): DeskbellError | undefined {
  const host = headers.host?.toLowerCase();
  if (host === undefined || !known.has(host)) {
    return new DeskbellError('ERR_HOST_REFUSED', 'The Host header names none of the hosts of this listener.');
  }
  const { origin } = headers;
  const isOwnOrigin = origin === undefined || origin.toLowerCase() === `http${isSecure ? 's' : ''}://${host}`;
  const site = headers['sec-fetch-site'];
  // Links from other sites may open a page. Such a request has no cookie, because the cookie is SameSite=Strict.
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  const isOwnSite = site === undefined || site === 'same-origin' || site === 'none' || isLink;
  if (isOwnOrigin && isOwnSite) return undefined;
  return new DeskbellError('ERR_ORIGIN_REFUSED', 'Only pages of this listener may make requests to it.');
}

export interface OperatorOptions
  extends ListenerOptions, Pick<OperatorContext, 'sender' | 'metrics' | 'hashPerson' | 'bellsUrl'> {
  /** Reads the warnings to show. Default: reads only the store's warnings. */
  readonly readWarnings?: ReadWarnings | undefined;
  /** The title of plain-text messages that have none. Default: the name of this machine. */
  readonly defaultTitle?: string | undefined;
  /** The maximum number of broadcasts per minute that one bell creates. Default: 30. */
  readonly bellsPerMinute?: BellParts['perMinute'] | undefined;
}

export interface ListenerOptions
  extends Pick<OperatorContext, 'store' | 'log'>, Omit<HttpServerOptions, 'trustProxy'> {
  /** Address to listen on, without brackets. */
  readonly host: string;
  /** 0 to let the system choose. */
  readonly port: number;
  /** Required if the listener is not on loopback, unless a proxy in front of it provides TLS. */
  readonly tls?: TlsFiles | undefined;
  /** A proxy in front of the listener provides TLS. Default: false. */
  readonly isBehindProxy?: boolean | undefined;
  /**
   * Addresses or ranges of proxies whose `x-forwarded-for` or `forwarded` header names the client. With
   * `isBehindProxy`, proxies on this machine are trusted too. Default: none.
   */
  readonly trustProxy?: readonly string[] | undefined;
  /** Hosts that requests may name besides the address that the listener listens on. Default: none. */
  readonly hosts?: readonly string[] | undefined;
}

/** Long enough for an origin (host names have up to 253 characters) or a percent-encoded user of 128 bytes. */
const maxParamLength = 400;

const rules: ResponseRules = {
  errors: operatorErrors,
  headers: responseHeaders,
  filters: [],
  preflightHeaders: () => undefined,
};

/**
 * Creates the listener: `await createOperator(options).listen({ host, port })` with the host and port of its options.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION if it would be reachable beyond this machine without TLS
 */
export function createOperator(options: OperatorOptions): FastifyInstance {
  const { store, sender, log, metrics, hashPerson, defaultTitle = hostname(), bellsUrl } = options;
  const { readWarnings = createWarningReader(store), bellsPerMinute = defaultBellsPerMinute } = options;
  const { app, isSecure } = createListener(options);
  const onFault = (error: unknown): void => log.error({ event: 'fault', error });
  const readProgress = createProgressReader(store.broadcasts, onFault);
  // Without this, the server would close only when the broadcasts of all event streams are done.
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  const context: OperatorContext = {
    store,
    sender,
    log,
    readProgress: async (id) => (isClosing ? undefined : readProgress(id)),
    metrics,
    isSecure,
    hashPerson,
    defaultTitle,
    readWarnings,
    bellsUrl,
  };
  app.register(async (scope) => addApi(scope.withTypeProvider<SchemaTypeProvider>(), context));
  app.register(async (scope) => addConsole(scope, context));
  app.register(async (scope) =>
    addBells(scope, [bellsPath], { store, sender, log, perMinute: bellsPerMinute }),
  );
  return app;
}

/**
 * Creates a listener with only `/metrics`, for a process that only delivers.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION if it would be reachable beyond this machine without TLS
 */
export function createMetricsListener(
  options: ListenerOptions & Pick<OperatorContext, 'metrics'>,
): FastifyInstance {
  const { app } = createListener(options);
  app.register(async (scope) => {
    requireToken(scope, options.store.operators);
    addMetricsRoute(scope.withTypeProvider<SchemaTypeProvider>(), options.metrics);
  });
  return app;
}

/**
 * Creates a listener that serves only bells. The root path serves bells too, because some clients accept only a host.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION if it would be reachable beyond this machine without TLS
 */
export function createBellsListener(
  options: ListenerOptions & Pick<OperatorOptions, 'sender' | 'bellsPerMinute'>,
): FastifyInstance {
  const { app } = createListener(options);
  const { store, sender, log, bellsPerMinute: perMinute = defaultBellsPerMinute } = options;
  app.register(async (scope) => addBells(scope, ['', bellsPath], { store, sender, log, perMinute }));
  return app;
}

function createListener(options: ListenerOptions): {
  readonly app: FastifyInstance;
  readonly isSecure: boolean;
} {
  const { store, log, host, hosts = [], tls, isBehindProxy = false, trustProxy = [] } = options;
  const isSecure = tls !== undefined || isBehindProxy;
  requireTls(host, isSecure);
  // proxies are trusted by address, because a number of hops would also trust clients that connect directly
  const proxies = [...(isBehindProxy ? ['loopback'] : []), ...trustProxy];
  const app = createHttpServer({ ...options, trustProxy: proxies }, rules, { tls, maxParamLength });
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  // The API and the console each add parsers for their own bodies.
  app.removeAllContentTypeParsers();
  sendProblems(app, rules, log);

  // A request passes the following hooks and routes in this order.
  readForwarded(app);
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(responseHeaders);
    done();
  });
  assertHost(app);
  checkHost(app, { host, hosts, isSecure });
  handleUnknownPaths(app);
  app.decorateRequest('operator', null);
  auditChanges(app, store.audit);
  return { app, isSecure };
}
