// The service as a function from `Request` to `Response` (Fetch standard), for Next, Hono, SvelteKit, React Router,
// Astro, Bun and Deno. A Fastify application inside has the routes, hooks and limits.
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Response as Answer } from 'light-my-request';

import { kindOf, wrong } from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { type Rejection, renderError } from '../http/problem.ts';
import { rejectUnmatched } from '../http/unknown-paths.ts';
import { handlerChecks, type HandlerOptions, resolveOptions } from './options.ts';
import { createMountedApp } from './create-service.ts';

/**
 * Answers every path under the prefix, and 404 everywhere else.
 *
 * @typeParam HostRequest what the framework passes
 */
export interface ServiceHandler<HostRequest = Request> {
  /** @throws {DeskbellError} ERR_CONFIGURATION if `toRequest` does not return a `Request` */
  (request: HostRequest): Promise<Response>;
  /** Waits for requests in progress. */
  close(): Promise<void>;
}

/**
 * Makes a function of the service that answers a `Request` with a `Response`.
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
 * @typeParam HostRequest what the framework passes, and what hooks receive: a `Request`, or for example Hono's `Context`
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createHandler<HostRequest = Request>(
  options: HandlerOptions<HostRequest>,
): ServiceHandler<HostRequest> {
  const hostRequests = new WeakMap<IncomingMessage, HostRequest>();
  const settings = resolveOptions(options, handlerChecks, {
    redactSubscriptions: true,
    toHookRequest: ({ raw }) => hostRequests.get(raw)!,
  });
  const { log, rules } = settings;
  const { toRequest = (given: unknown) => given as Request, clientAddress = () => undefined } = options;
  const app = createMountedApp(settings, options);
  const ready = Promise.all([import('light-my-request'), app.ready()]);
  // requests get this error
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
          // it would refuse methods that Node does not know
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
  return Object.assign(answer, { close: () => app.close() });
}

const unknownAddress =
  'createHandler does not know the address of clients, so all clients together may register 60 times a minute, or as often as ' +
  '"registrationsPerMinute" says. Set "clientAddress", or "trustProxy" if a proxy sends x-forwarded-for.';

/** Not `instanceof`: frameworks have classes of their own. */
function checkRequest(value: Request): void {
  if (typeof value?.url === 'string' && typeof value.headers?.forEach === 'function') return;
  throw wrong('toRequest', `must return a Request, not ${kindOf(value)}`);
}

/** As Node has them: a streamed body has no length. */
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
