// The operator's listener: an HTTP server of its own beside the public one, on loopback unless told otherwise.
import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';

import { createWarningReader, type ReadWarnings } from '../delivery/installation-warnings.ts';
import { operatorErrors } from '../errors/catalogue.ts';
import { readForwarded } from '../http/client-address.ts';
import { createHttpServer, type HttpServerOptions, type TlsFiles } from '../http/create-http-server.ts';
import { assertHost } from '../http/malformed-requests.ts';
import { type ResponseRules, sendProblems } from '../http/problem.ts';
import type { SchemaTypeProvider } from '../http/schema.ts';
import { handleUnknownPaths } from '../http/unknown-paths.ts';
import { nameOperators, requireToken } from './authorize.ts';
import { addApi } from './api/add-api.ts';
import { auditChanges } from './audit-changes.ts';
import { addMetricsRoute } from './metrics/add-metrics.ts';
import { checkHost } from './host-check.ts';
import { addConsole } from './console/add-console.ts';
import type { OperatorContext } from './context.ts';
import { createProgressFeeds } from './progress-feeds.ts';
import { requireTls } from './require-tls.ts';
import { responseHeaders } from './response-headers.ts';
import { compileValidator } from './validator.ts';

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
