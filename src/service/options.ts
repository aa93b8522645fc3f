// The options of the service. Everything is passed in; nothing is read from the environment.
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

import type { Store } from '../store/store.ts';
import type { UserAndTags } from '../audience/user-and-tags.ts';
import type { Subscription } from '../protocol/subscription.ts';
import type { StoredSubscription } from '../store/subscriptions.ts';
import { createEndpointPolicy, type EndpointPolicy, type PushServices } from '../protocol/endpoint-policy.ts';
import { checkOptions, type OptionChecks } from '../errors/check-options.ts';
import type { HttpServerOptions } from '../http/create-http-server.ts';
import { createLog, guardLog, type Log } from '../http/log.ts';
import type { ExampleUsers } from './demonstration/example-users.ts';
import type { Authorize } from './demonstration/mechanisms/authenticator.ts';
import { createLoggingFilter } from './demonstration/mechanisms/logging-filter.ts';
import type { ResponseRules } from '../http/response-rules.ts';
import { serviceErrors } from '../errors/catalogue/service-errors.ts';
import { corsHeaders, preflightHeaders } from './cors.ts';
import type { LoggingMechanism } from './demonstration/mechanisms/record.ts';
import type { SubscriberTokens } from './push/subscriber-token.ts';
import { createRequestSessions, createSessionVault, type RequestSessions } from './demonstration/session.ts';

/** The demonstration actions, by their paths under `/api`. */
export type DemoActionName = 'get' | 'getWithArg' | 'post';

/**
 * Of the public service, however it is mounted.
 *
 * @typeParam Request what hooks receive of a request
 */
export interface ServiceOptions<Request = FastifyRequest> {
  readonly store: Store;
  /**
   * 87 characters of unpadded base64url: the uncompressed P-256 point that browsers subscribe with. Once the store knows
   * it, as that of a data directory does, the store says which key is current (`deskbell keys rotate`).
   */
  readonly vapidPublicKey: string;
  /** Earlier public keys that subscriptions may still be made with; the sender needs their pairs. Default: none. */
  readonly previousVapidPublicKeys?: readonly string[] | undefined;
  /** 32 random bytes that seal session cookies and sign CSRF tokens; whoever has them can make a session. */
  readonly sessionKey: Uint8Array;
  /**
   * Whether the service is `/vapidKey`, `/webPush`, health, the client's files and their description alone, as in
   * production: no demo page, no `/api`, no example users, no sessions. Default: false.
   */
  readonly pushOnly?: boolean | undefined;
  /** The users of the example API. Default: one user, in memory. */
  readonly exampleUsers?: ExampleUsers | undefined;
  /** How to send from a shell on this machine, up to the audience: the demo page shows it. Default: `deskbell send …`. */
  readonly sendCommand?: string | undefined;
  /** Path prefix of all routes, such as `/push`. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * Push services to admit in addition to the known ones (see `createEndpointPolicy`), or `'public'` for any public host.
   * Default: none.
   */
  readonly pushServices?: PushServices | undefined;
  /** How many push services `'public'` admits that are neither known nor listed. Default: 100. */
  readonly maxPushServices?: number | undefined;
  /** Default: the filter alone. */
  readonly logging?: readonly LoggingMechanism[] | undefined;
  /** The demonstration actions that require a session. Default: `all` where the authenticator logs, else `none`. */
  readonly authenticate?: 'none' | 'all' | readonly DemoActionName[] | undefined;
  /**
   * Whether the log has only the origin of a subscription instead of its three values. Default: true, and false for
   * `createServer`.
   */
  readonly redactSubscriptions?: boolean | undefined;
  /** Default: 16 384. */
  readonly bodyLimitBytes?: number | undefined;
  /**
   * Whose subscriptions are stored: everybody's, or those of browsers that are invited (`deskbell invite`), have a subscriber token, or
   * are registered already. Default: `open`.
   */
  readonly registrations?: 'open' | 'invited' | undefined;
  /**
   * `POST /webPush` requests that one client address may make in a minute, at all services on one PostgreSQL database
   * together, or at this one, and as many for its channels. Default: 60.
   */
  readonly registrationsPerMinute?: number | 'off' | undefined;
  /**
   * Of the data directory: takes what browsers report of broadcasts with `receipts`, at `POST /webPush/receipts`. Default:
   * there is no such path.
   */
  readonly receiptKey?: Uint8Array | undefined;
  /** `POST /webPush/receipts` requests that one client address may make in a minute. Default: 600. */
  readonly receiptsPerMinute?: number | 'off' | undefined;
  /**
   * Lets readers choose their channels: `POST /webPush/channels`, and the page `/preferences`. Default: there are no such paths.
   */
  readonly channels?: boolean | undefined;
  /** Where records go. Default: standard output, as JSON lines or, on a terminal, readable lines. */
  readonly log?: Log | undefined;
  /**
   * Takes subscriber tokens, which say whose a subscription is. Default: none, and the header `Authorization` is ignored.
   */
  readonly subscriberTokens?: SubscriberTokens | undefined;
  /**
   * Called before a subscription is stored or changed. What it throws becomes the response, and nothing is stored or
   * changed then.
   */
  readonly onSubscribe?: SubscribeHook<Request> | undefined;
  /** Called after a client has removed its subscription; what it throws is logged. */
  readonly onUnsubscribe?: SubscriptionHook<Request> | undefined;
  /** Whether a session value may pass the authenticator; `false` is a 403. Default: every value may. */
  readonly authorize?: Authorize | undefined;
  /**
   * Told by `/readyz` beside its state, by short names. Default: `sending-paused` where the store says so.
   */
  readonly readWarnings?: (() => Promise<readonly string[]>) | undefined;
}

/** What a browser asks to have stored, once all of it is valid and it has a right to the row that is there. */
export interface OfferedSubscription extends Subscription {
  readonly vapidPublicKey: string;
  /** Of the row that is there already; a new subscription has none until it is stored. */
  readonly id: number | undefined;
  /** Whose it will be unless the hook says otherwise: by its token, as the row is now, or by the subscription that it replaces. */
  readonly user: string | undefined;
  readonly tags: readonly string[];
}

/** An object that it returns replaces user and tags of the subscription; without one they stay as they are. */
export type SubscribeHook<Request = FastifyRequest> = (
  subscription: OfferedSubscription,
  request: Request,
) => void | UserAndTags | Promise<void | UserAndTags>;

/** Told of a subscription and the request that it came with. */
export type SubscriptionHook<Request = FastifyRequest> = (
  subscription: StoredSubscription,
  request: Request,
) => void | Promise<void>;

/** What `createServer` adds: time-outs and limits of connections. */
export interface ServerOptions extends ServiceOptions, HttpServerOptions {}

/**
 * Of `createMiddleware`. `prefix` is not among them: the path of the mount takes its place.
 *
 * @typeParam Request of the application, such as `express.Request`
 */
export type MiddlewareOptions<Request extends IncomingMessage = IncomingMessage> = Omit<
  ServiceOptions<Request>,
  'prefix'
> &
  Pick<ServerOptions, 'trustProxy'>;

/**
 * Of `createHandler`. The prefix is the path that the framework routes to the handler, such as `/push`: a `Request` has its whole URL.
 *
 * @typeParam HostRequest what the framework passes
 */
export type HandlerOptions<HostRequest = Request> = ServiceOptions<HostRequest> &
  Pick<ServerOptions, 'trustProxy'> & {
    /**
     * The address of the client, without its port, such as Hono's `getConnInfo(context).remote.address`. Without it, all clients share the
     * limits of one client, unless `trustProxy` finds them.
     */
    readonly clientAddress?: ((request: HostRequest) => string | undefined) | undefined;
  } & (HostRequest extends Request
    ? { readonly toRequest?: ((request: HostRequest) => Request) | undefined }
    : {
        /** The standard's request in what the framework passes. */
        readonly toRequest: (request: HostRequest) => Request;
      });

/** What differs between a server of its own and a part of an application. */
export interface Mount<Request> {
  /** Default of the option. */
  readonly redactSubscriptions: boolean;
  /** What hooks receive of a request. */
  readonly toHookRequest: (request: FastifyRequest) => Request;
}

/** What the specification says: the log has the three values. */
export const asServer: Mount<FastifyRequest> = {
  redactSubscriptions: false,
  toHookRequest: (request) => request,
};
/** The log is the application's own. */
export const asPlugin: Mount<FastifyRequest> = { ...asServer, redactSubscriptions: true };

/** The options, and what is created from them. The default of one that one place uses is there. */
export interface Settings extends Omit<ServiceOptions, 'sessionKey' | 'pushServices'> {
  readonly previousVapidPublicKeys: readonly string[];
  readonly prefix: string;
  readonly logging: readonly LoggingMechanism[];
  readonly log: Log;
  readonly rules: ResponseRules;
  readonly endpointPolicy: EndpointPolicy;
  readonly sessions: RequestSessions;
}

/** @throws {DeskbellError} ERR_CONFIGURATION where an option is not usable */
export function resolveOptions<Request>(
  options: ServiceOptions<Request>,
  checks: OptionChecks<object>,
  mount: Mount<Request>,
): Settings {
  checkOptions(options, checks, { required: ['store', 'vapidPublicKey', 'sessionKey'] });
  const { sessionKey, pushServices = [], onSubscribe, onUnsubscribe, ...given } = options;
  const { previousVapidPublicKeys = [], prefix = '', logging = ['filter'] } = given;
  const log = guardLog(given.log ?? createLog());
  return {
    ...given,
    redactSubscriptions: given.redactSubscriptions ?? mount.redactSubscriptions,
    onSubscribe: onSubscribe && ((offered, request) => onSubscribe(offered, mount.toHookRequest(request))),
    onUnsubscribe:
      onUnsubscribe && ((stored, request) => onUnsubscribe(stored, mount.toHookRequest(request))),
    previousVapidPublicKeys,
    prefix,
    logging,
    log,
    rules: {
      errors: serviceErrors,
      headers: corsHeaders,
      filters: logging.includes('filter') ? [createLoggingFilter(log)] : [],
      preflightHeaders,
    },
    endpointPolicy: createEndpointPolicy(pushServices),
    sessions: createRequestSessions(createSessionVault(sessionKey)),
  };
}
