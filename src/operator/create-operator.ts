// Header fields of every answer of the listener. Pages have more: console/page-headers.ts.
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createWarningReader, type ReadWarnings } from '../delivery/installation-warnings.ts';
import { operatorErrors } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { isLoopback, readForwarded } from '../http/client-address.ts';
import { createHttpServer, type HttpServerOptions, type TlsFiles } from '../http/create-http-server.ts';
import { assertHost } from '../http/malformed-requests.ts';
import { type ResponseRules, sendProblems } from '../http/problem.ts';
import type { SchemaTypeProvider } from '../http/schema.ts';
import { handleUnknownPaths } from '../http/unknown-paths.ts';
import { addApi } from './api/add-api.ts';
import { auditChanges } from './audit-changes.ts';
import { nameOperators, requireToken } from './authorize.ts';
import { createProgressFeeds } from './broadcast-events.ts';
import { addConsole } from './console/add-console.ts';
import type { OperatorContext } from './context.ts';
import { addMetricsRoute } from './metrics/metrics.ts';
import { compileValidator } from './validator.ts';

/** Nothing of the listener is for caches, frames or other origins. */
export const responseHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
} as const;

// Where the listener may be without TLS: on loopback, and behind a proxy that provides it.

/**
 * @param isSecure where the listener, or a proxy in front of it, speaks TLS
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
export function requireTls(host: string, isSecure: boolean): void {
  if (isLoopback(host) || isSecure) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `The operator’s listener on ${host} can be reached from other machines, and its tokens must not be sent ` +
      'unencrypted: give --operator-cert and --operator-key, or --operator-behind-proxy if a proxy provides TLS.',
  );
}

// The listener is reached by its own addresses only, and by its own pages only. A page of another site can have its name
// resolve to this machine (DNS rebinding), which the Host header gives away; and cookies ignore ports, so that a page of the
// public listener counts as the same site, which Origin gives away.

export interface HostCheckSettings {
  /** Where the listener listens. */
  readonly host: string;
  /** Further hosts that it is reached by, such as `ops.example.org`, with a port where that is not the listener's. */
  readonly hosts: readonly string[];
  /** Browsers reach it by https. */
  readonly isSecure: boolean;
}

/** To be called before any route is added. */
export function checkHost(app: FastifyInstance, settings: HostCheckSettings): void {
  let known: ReadonlySet<string> | undefined;
  app.addHook('onRequest', (request, _reply, done) => {
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
  // A link from elsewhere may lead to a page; it carries no cookie then, since that is SameSite=Strict.
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  const isOwnSite = site === undefined || site === 'same-origin' || site === 'none' || isLink;
  if (isOwnOrigin && isOwnSite) return undefined;
  return new DeskbellError('ERR_ORIGIN_REFUSED', 'Only pages of this listener may make requests to it.');
}

// The operator's listener: an HTTP server of its own beside the public one, on loopback unless told otherwise.

export interface OperatorOptions
  extends ListenerOptions, Pick<OperatorContext, 'sender' | 'metrics' | 'hashPerson'> {
  /** Default: what the store alone says. */
  readonly readWarnings?: ReadWarnings | undefined;
  /** Of messages that are sent as plain text without one. Default: the name of this machine. */
  readonly defaultTitle?: string | undefined;
  /** How often broadcasts that are followed are read from the store. Default: 500. */
  readonly progressEveryMs?: number | undefined;
}

export interface ListenerOptions
  extends Pick<OperatorContext, 'store' | 'log'>, Omit<HttpServerOptions, 'trustProxy'> {
  /** Address to listen on, without brackets. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Needed beyond loopback, unless a proxy in front speaks TLS. */
  readonly tls?: TlsFiles | undefined;
  /** A proxy in front of the listener speaks TLS to everybody else. Default: false. */
  readonly isBehindProxy?: boolean | undefined;
  /**
   * Addresses or ranges of proxies whose `x-forwarded-for` or `forwarded` says who the client is. Those on this machine are among them with
   * `isBehindProxy`. Default: none.
   */
  readonly trustProxy?: readonly string[] | undefined;
  /** Hosts that the listener is reached by, beside the address that it listens on. Default: none. */
  readonly hosts?: readonly string[] | undefined;
}

/** An origin: a host name has at most 253 characters; a user of 128 bytes, percent-encoded. */
const maxParamLength = 400;

const rules: ResponseRules = {
  errors: operatorErrors,
  headers: responseHeaders,
  filters: [],
  preflightHeaders: () => undefined,
};

/**
 * Makes the listener: `await createOperator(options).listen({ host, port })` with the host and port of its options.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION where it would be reached without TLS from beyond this machine
 */
export function createOperator(options: OperatorOptions): FastifyInstance {
  const { store, sender, log, metrics, hashPerson, defaultTitle = hostname() } = options;
  const { readWarnings = createWarningReader(store) } = options;
  const { app, isSecure } = createListener(options);
  const onFault = (error: unknown): void => log.error({ event: 'fault', error });
  const progress = createProgressFeeds(store.broadcasts, onFault, options.progressEveryMs);
  // Streams of events would go on for as long as their broadcasts.
  app.addHook('preClose', async () => progress.close());
  const context: OperatorContext = {
    store,
    sender,
    log,
    progress,
    metrics,
    isSecure,
    hashPerson,
    defaultTitle,
    readWarnings,
  };
  app.register(async (scope) => addApi(scope.withTypeProvider<SchemaTypeProvider>(), context));
  app.register(async (scope) => addConsole(scope, context));
  return app;
}

/**
 * The same with `/metrics` alone, for a process that delivers and does nothing else.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION where it would be reached without TLS from beyond this machine
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

function createListener(options: ListenerOptions): {
  readonly app: FastifyInstance;
  readonly isSecure: boolean;
} {
  const { store, log, host, hosts = [], tls, isBehindProxy = false, trustProxy = [] } = options;
  const isSecure = tls !== undefined || isBehindProxy;
  requireTls(host, isSecure);
  // by address: a number of hops trusts nobody in Fastify, and would believe whoever connects past the proxy
  const proxies = [...(isBehindProxy ? ['loopback'] : []), ...trustProxy];
  const app = createHttpServer({ ...options, trustProxy: proxies }, rules, { tls, maxParamLength });
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => JSON.stringify);
  // Which bodies are read is a matter of the API and of the console.
  app.removeAllContentTypeParsers();
  sendProblems(app, { rules, log });

  // In the order in which a request meets them.
  readForwarded(app);
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(responseHeaders);
    done();
  });
  assertHost(app);
  checkHost(app, { host, hosts, isSecure });
  handleUnknownPaths(app);
  nameOperators(app);
  auditChanges(app, store.audit);
  return { app, isSecure };
}
