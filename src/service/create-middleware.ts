// The service as a request handler for Express, Connect and `node:http`.
import type { IncomingMessage, ServerResponse } from 'node:http';

import { removeCors } from './cors.ts';
import { toRequestHead } from '../http/filter.ts';
import { allowedMethods, hasRoute } from '../http/unknown-paths.ts';
import { render } from '../http/problem.ts';
import { createMountedApp } from './create-service.ts';
import { middlewareChecks, type MiddlewareOptions, resolveOptions } from './options.ts';

/** Answers every path under a mount path. Without a mount path, it passes unknown paths to `next`, if there is one. */
export interface ServiceMiddleware<Request extends IncomingMessage = IncomingMessage> {
  (request: Request, response: ServerResponse, next?: (error?: unknown) => void): void;
  /** Waits for requests in progress. */
  close(): Promise<void>;
}

/**
 * Makes a request handler of the service. It may come after middleware that reads bodies if that leaves them in
 * `request.body`.
 *
 * @example
 * app.use('/push', createMiddleware<express.Request>({
 *   store, vapidPublicKey: vapidKeys.publicKey, sessionKey, pushOnly: true,
 *   onSubscribe: (_subscription, request) => ({ user: request.session.user }),
 * }));
 * @typeParam Request what hooks receive: the application's own request
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function createMiddleware<Request extends IncomingMessage = IncomingMessage>(
  options: MiddlewareOptions<Request>,
): ServiceMiddleware<Request> {
  const settings = resolveOptions(options, middlewareChecks, {
    redactSubscriptions: true,
    toHookRequest: ({ raw }) => raw as Request,
  });
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
    // some applications set 404 before they look for a handler
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

/** True if there is no mount path, which Express and Connect remove from `url`. */
const isAtRoot = ({ url, originalUrl = url }: MountedRequest): boolean => url === originalUrl;

/**
 * `/push` and `/push/` both arrive as `/`, but the page's addresses are relative to `/push/`.
 *
 * @returns where to redirect `/push`, `undefined` for any other request
 */
function locationOfFolder({ url = '', originalUrl = url }: MountedRequest): string | undefined {
  const [path = '', query] = originalUrl.split('?', 2);
  if (!/^\/(?:\?|$)/.test(url) || path.endsWith('/')) return undefined;
  return `${path.slice(path.lastIndexOf('/') + 1)}/${query === undefined ? '' : `?${query}`}`;
}
