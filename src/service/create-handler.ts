// The service as a function from `Request` to `Response` (Fetch standard), for Next, Hono, SvelteKit, React Router,
// Astro, Bun and Deno. The function passes each request to a Fastify application with the routes, hooks and limits.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { Response as Answer } from 'light-my-request';
import { kindOf, wrong } from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { toRequestHead } from '../http/filter.ts';
import { type Rejection, render, renderError } from '../http/problem.ts';
import { allowedMethods, hasRoute, rejectUnmatched } from '../http/unknown-paths.ts';
import { removeCors } from './cors.ts';
import { createMountedApp } from './create-service.ts';
import {
  handlerChecks,
  type HandlerOptions,
  middlewareChecks,
  type MiddlewareOptions,
  resolveOptions,
} from './options.ts';

/**
 * Handles every path under the prefix, and returns 404 everywhere else.
 *
 * @typeParam HostRequest the value that the framework passes
 */
export interface ServiceHandler<HostRequest = Request> {
  /** @throws {DeskbellError} ERR_CONFIGURATION if `toRequest` does not return a `Request` */
  (request: HostRequest): Promise<Response>;
  /** Waits for requests in progress. */
  close(): Promise<void>;
}

/**
 * Creates the service as a function that takes a `Request` and returns a `Response`.
 *
 * @example
 * const handler = createHandler({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey, prefix: '/push', pushOnly: true });
 * export { handler as GET, handler as POST, handler as DELETE, handler as OPTIONS };
 * @example
 * const handler = createHandler<Context>({
 *   store, vapidPublicKey: vapidKeys.publicKey, sessionKey, prefix: '/push', pushOnly: true,
 *   toRequest: (context) => context.req.raw,
 *   clientAddress: (context) => getConnInfo(context).remote.address,
 *   onSubscribe: (_subscription, context) => ({ user: context.get('user') }),
 * });
 * @typeParam HostRequest the value that the framework passes and that hooks receive: a `Request`, or for example Hono's `Context`
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createHandler<HostRequest = Request>(
  options: HandlerOptions<HostRequest>,
): ServiceHandler<HostRequest> {
  const hostRequests = new WeakMap<IncomingMessage, HostRequest>();
  const settings = resolveOptions(options, handlerChecks, ({ raw }) => hostRequests.get(raw)!);
  const { log, rules } = settings;
  const { toRequest = (given: unknown) => given as Request, clientAddress = () => undefined } = options;
  const app = createMountedApp(settings, options);
  const ready = Promise.all([import('light-my-request'), app.ready()]);
  // ignored here, because each request reports this error
  ready.catch(() => undefined);
  const needsAddress = settings.registrationsPerMinute !== 'off' && options.trustProxy === undefined;
  let hasWarned = !needsAddress;

  async function answer(hostRequest: HostRequest): Promise<Response> {
    const request = toRequest(hostRequest);
    checkRequest(request);
    const [{ inject }] = await ready;
    const { method } = request;
    const { pathname, search } = new URL(request.url);
    const url = pathname + search;
    const reject = (rejection: Rejection): Response => {
      const head = { method, url, startMs: performance.now() };
      const { status, headers, body } = renderError(head, rejection, rules);
      return new Response(new Uint8Array(body), { status, headers });
    };
    // the router finds no route for methods that Node does not know
    if (!app.supportedMethods.includes(method)) return reject(rejectUnmatched(app, method, url));
    if (request.bodyUsed) {
      const fault = new DeskbellError(
        'ERR_BODY_CONSUMED',
        'The body was read before the request reached the service.',
      );
      log.error({ event: 'fault', method, url, error: fault });
      return reject({ fault });
    }

    const remoteAddress = clientAddress(hostRequest);
    if (remoteAddress === undefined && !hasWarned) {
      hasWarned = true;
      log.error({ event: 'client-address-unknown', detail: unknownAddress });
    }
    const payload = request.body ? Readable.fromWeb(request.body as ReadableStream) : undefined;
    try {
      const answered = await inject(
        (raw, response) => {
          hostRequests.set(raw, hostRequest);
          app.routing(raw, response);
        },
        {
          method,
          url,
          headers: toNodeHeaders(request),
          remoteAddress: remoteAddress ?? 'unknown',
          ...(payload && { payload }),
          // validation would refuse methods that Node does not know
          validate: false,
        },
      );
      return toResponse(answered);
    } catch (error) {
      if (!payload?.errored) throw error;
      return reject({
        fault: new DeskbellError('ERR_REQUEST_INVALID', 'The body ended before it was complete.'),
      });
    } finally {
      payload?.destroy();
    }
  }

  // injected requests have no connection, so the application does not know that they are in progress
  const open = new Set<Promise<Response>>();
  const handle = async (hostRequest: HostRequest): Promise<Response> => {
    const answering = answer(hostRequest);
    open.add(answering);
    try {
      return await answering;
    } finally {
      open.delete(answering);
    }
  };
  const close = async (): Promise<void> => {
    await Promise.allSettled(open);
    await app.close();
  };
  return Object.assign(handle, { close });
}

const unknownAddress =
  'createHandler does not know the address of clients, so all clients together may register 60 times a minute, or as often as ' +
  '"registrationsPerMinute" says. Set "clientAddress", or "trustProxy" if a proxy sends x-forwarded-for.';

/** Checks the value without `instanceof`, because frameworks have their own `Request` classes. */
function checkRequest(value: Request): void {
  if (typeof value?.url === 'string' && typeof value.headers?.forEach === 'function') return;
  throw wrong('toRequest', `must return a Request, not ${kindOf(value)}`);
}

/** Converts header fields to Node's form, in which a streamed body has no length. */
function toNodeHeaders({ headers, body }: Request): OutgoingHttpHeaders {
  const fields: Record<string, string | undefined> = { 'user-agent': undefined };
  headers.forEach((value, name) => (fields[name] = value));
  delete fields['transfer-encoding'];
  if (body && fields['content-length'] === undefined) fields['transfer-encoding'] = 'chunked';
  return fields;
}

const connectionFields: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);

function toResponse({ statusCode, headers, rawPayload }: Answer): Response {
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (connectionFields.has(name) || value === undefined) continue;
    for (const single of [value].flat()) fields.append(name, String(single));
  }
  const body = rawPayload.length > 0 ? new Uint8Array(rawPayload) : null;
  return new Response(body, { status: statusCode, headers: fields });
}

/**
 * Handles every request under its mount path. If the middleware has no mount path, it calls `next` for paths that it
 * does not know. If there is no `next`, the middleware responds with 404 to paths that it does not know.
 */
export interface ServiceMiddleware<Request extends IncomingMessage = IncomingMessage> {
  (request: Request, response: ServerResponse, next?: (error?: unknown) => void): void;
  /** Waits for requests in progress. */
  close(): Promise<void>;
}

/**
 * Creates the service as a request handler. Middleware in front of the handler may read bodies if it sets
 * `request.body`.
 *
 * @example
 * app.use('/push', createMiddleware<express.Request>({
 *   store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true,
 *   onSubscribe: (_subscription, request) => ({ user: request.session.user }),
 * }));
 * @typeParam Request the application's own request, which hooks receive
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createMiddleware<Request extends IncomingMessage = IncomingMessage>(
  options: MiddlewareOptions<Request>,
): ServiceMiddleware<Request> {
  const settings = resolveOptions(options, middlewareChecks, ({ raw }) => raw as Request);
  const { rules } = settings;
  const app = createMountedApp(settings, options);
  const ready = app.ready();
  let isReady = false;
  ready.then(
    () => (isReady = true),
    () => undefined,
  );

  const open = new Set<ServerResponse>();
  const answer = (request: MountedRequest, response: ServerResponse, next: Next): void => {
    const { method = '', url = '' } = request;
    const isUnknown = (): boolean => !hasRoute(app, method, url) && allowedMethods(app, url).length === 0;
    if (next !== undefined && isAtRoot(request) && isUnknown()) {
      open.delete(response);
      return next();
    }
    removeCors(response);
    // some applications set the status 404 before they call a handler
    response.statusCode = 200;
    const location = locationOfFolder(request);
    if (location === undefined) return app.routing(request, response);
    const { status, headers } = render(toRequestHead(request), 308, { location }, Buffer.alloc(0), rules);
    response.writeHead(status, headers).end();
  };
  const handle = (request: MountedRequest, response: ServerResponse, next: Next): void => {
    // if the client is gone, "close" has been emitted already
    if (!response.destroyed) open.add(response);
    response.once('close', () => open.delete(response));
    if (isReady) answer(request, response, next);
    else ready.then(() => answer(request, response, next), next ?? (() => response.destroy()));
  };
  const close = async (): Promise<void> => {
    await Promise.all(Array.from(open, isClosed));
    await app.close();
  };
  return Object.assign(handle, { close });
}

const isClosed = (response: ServerResponse): Promise<unknown> =>
  new Promise((resolve) => response.once('close', resolve));

type MountedRequest = IncomingMessage & { readonly originalUrl?: string };
type Next = Parameters<ServiceMiddleware>[2];

/** True if there is no mount path, which Express and Connect would have removed from `url`. */
const isAtRoot = ({ url, originalUrl = url }: MountedRequest): boolean => url === originalUrl;

/**
 * Both `/push` and `/push/` arrive as `/`, but the addresses in the page are relative to `/push/`.
 *
 * @returns where to redirect `/push`; `undefined` for any other request
 */
function locationOfFolder({ url = '', originalUrl = url }: MountedRequest): string | undefined {
  const [path = '', query] = originalUrl.split('?', 2);
  if (!/^\/(?:\?|$)/.test(url) || path.endsWith('/')) return undefined;
  return `${path.slice(path.lastIndexOf('/') + 1)}/${query === undefined ? '' : `?${query}`}`;
}
