// The options of the public service.
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { UserAndTags } from '../audience/user-and-tags.ts';
import { serviceErrors } from '../errors/catalogue.ts';
import {
  checkOptions,
  isFlag,
  isFunction,
  isObject,
  isSecret,
  isText,
  mustBe,
  pathPrefix,
  type OptionCheck,
  type OptionChecks,
  wrong,
} from '../errors/check-options.ts';
import type { HttpServerOptions } from '../http/create-http-server.ts';
import { createLog, guardLog, isLog, type Log } from '../http/log.ts';
import type { ResponseRules } from '../http/problem.ts';
import { createEndpointPolicy, type EndpointPolicy, type PushServices } from '../protocol/endpoint-policy.ts';
import { receiptKeyBytes } from '../protocol/message/receipt-token.ts';
import type { Subscription } from '../protocol/subscription.ts';
import { isVapidPublicKey } from '../protocol/vapid.ts';
import { isStore, type Store } from '../store/store.ts';
import type { StoredSubscription } from '../store/subscriptions.ts';
import { corsHeaders, preflightHeaders } from './cors.ts';
import type { Authorize } from './demonstration/authenticator.ts';
import { createLoggingFilter, type LoggingMechanism } from './demonstration/logging-mechanisms.ts';
import type { ExampleUsers } from './demonstration/users.ts';
import { isRequestLimit } from '../http/client-limits.ts';
import { areSubscriberTokens, type SubscriberTokens } from './push/subscriber-token.ts';

/** Names of the demonstration's actions. The path of an action is its name under `/api`, such as `/api/get`. */
export type DemoActionName = 'get' | 'getWithArg' | 'post';

/**
 * The public service takes these options.
 *
 * @typeParam Request the type of the requests that hooks receive
 */
export interface ServiceOptions<Request = FastifyRequest> {
  readonly store: Store;
  /**
   * 87 characters of unpadded base64url: the uncompressed P-256 point that browsers subscribe with. If the store has
   * this key, as in a data directory, the store's current key is used instead (`deskbell keys rotate`).
   */
  readonly vapidPublicKey: string;
  /** Earlier public keys that subscriptions may still use; the sender needs their key pairs. Default: none. */
  readonly previousVapidPublicKeys?: readonly string[] | undefined;
  /** 32 random bytes that encrypt session cookies and sign CSRF tokens; anyone who has them can make a session. */
  readonly sessionKey: Uint8Array;
  /**
   * Serves only `/vapidKey`, `/webPush`, health, the client's files and their description, as in production: no demo
   * page, `/api`, example users or sessions. Default: false.
   */
  readonly pushOnly?: boolean | undefined;
  /** The users of the example API. Default: one user, in memory. */
  readonly exampleUsers?: ExampleUsers | undefined;
  /** The start of the shell command for sending, which the demo page shows. Default: `deskbell send …`. */
  readonly sendCommand?: string | undefined;
  /** Path prefix of all routes, such as `/push`. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * Push services to admit in addition to the known ones (see `createEndpointPolicy`), or `'public'` for any public
   * host. Default: none.
   */
  readonly pushServices?: PushServices | undefined;
  /** With `'public'`: maximum number of push services that are neither known nor listed. Default: 100. */
  readonly maxPushServices?: number | undefined;
  /** The logging mechanisms to use. Default: only the filter. */
  readonly logging?: readonly LoggingMechanism[] | undefined;
  /**
   * The demonstration actions that require a session. Default: `all` if the authenticator writes logs, otherwise
   * `none`.
   */
  readonly authenticate?: 'none' | 'all' | readonly DemoActionName[] | undefined;
  /** Logs a subscription's origin instead of its endpoint and keys. Default: true; for `createServer` false. */
  readonly redactSubscriptions?: boolean | undefined;
  /** Default: 16 384. */
  readonly bodyLimitBytes?: number | undefined;
  /**
   * `invited` stores only subscriptions of browsers that are invited (`deskbell invite`), have a subscriber token, or
   * are registered already. Default: `open`.
   */
  readonly registrations?: 'open' | 'invited' | undefined;
  /**
   * Maximum number of `POST /webPush` requests per minute from one client address. The same limit applies to requests
   * for channels. All services on one PostgreSQL database count requests together. Default: 60.
   */
  readonly registrationsPerMinute?: number | 'off' | undefined;
  /**
   * The data directory's receipt key. Enables `POST /webPush/receipts`, where browsers report on broadcasts with
   * `receipts`. By default, this path does not exist.
   */
  readonly receiptKey?: Uint8Array | undefined;
  /** Maximum number of `POST /webPush/receipts` requests per minute from one client address. Default: 600. */
  readonly receiptsPerMinute?: number | 'off' | undefined;
  /**
   * Lets readers choose their channels, with `POST /webPush/channels` and the `/preferences` page. By default, neither
   * the path nor the page exists.
   */
  readonly channels?: boolean | undefined;
  /** Where records go. Default: standard output, as JSON lines, or readable lines on a terminal. */
  readonly log?: Log | undefined;
  /**
   * Accepts subscriber tokens, which say who owns a subscription. By default, the `Authorization` header is ignored.
   */
  readonly subscriberTokens?: SubscriberTokens | undefined;
  /**
   * Called before a subscription is stored or changed. An error that it throws becomes the response, and nothing is
   * stored or changed.
   */
  readonly onSubscribe?: SubscribeHook<Request> | undefined;
  /** Called after a client has removed its subscription. Errors that it throws are logged. */
  readonly onUnsubscribe?: SubscriptionHook<Request> | undefined;
  /** Decides whether a session value passes the authenticator; `false` leads to a 403. Default: every value passes. */
  readonly authorize?: Authorize | undefined;
  /** Short names of warnings for `/readyz`. Default: `sending-paused` while the store's sending is paused. */
  readonly readWarnings?: (() => Promise<readonly string[]>) | undefined;
}

/** A valid subscription that a browser has sent, and that the service is about to store unless the hook refuses it. */
export interface OfferedSubscription extends Subscription {
  readonly vapidPublicKey: string;
  /** The stored row's id; `undefined` for a new subscription. */
  readonly id: number | undefined;
  /** The user of the token, the stored row or the replaced subscription. The hook can return another user. */
  readonly user: string | undefined;
  readonly tags: readonly string[];
}

/**
 * A hook that can say who owns a subscription. If the hook returns an object, its user and tags replace those of the
 * subscription. If the hook returns no object, the subscription's user and tags do not change.
 */
export type SubscribeHook<Request = FastifyRequest> = (
  subscription: OfferedSubscription,
  request: Request,
) => void | UserAndTags | Promise<void | UserAndTags>;

/** The service calls this hook with a subscription, and with the request that contained the subscription. */
export type SubscriptionHook<Request = FastifyRequest> = (
  subscription: StoredSubscription,
  request: Request,
) => void | Promise<void>;

/** The options of `createServer`: the options of the service, time limits, and the maximum number of connections. */
export interface ServerOptions extends ServiceOptions, HttpServerOptions {}

/**
 * `createMiddleware` takes these options. The mount path replaces `prefix`.
 *
 * @typeParam Request the request of the application, such as `express.Request`
 */
export type MiddlewareOptions<Request extends IncomingMessage = IncomingMessage> = Omit<
  ServiceOptions<Request>,
  'prefix'
> &
  Pick<ServerOptions, 'trustProxy'>;

/**
 * `createHandler` takes these options. A `Request` contains the whole URL, so `prefix` must be the path that the
 * framework routes to the handler, such as `/push`.
 *
 * @typeParam HostRequest the value that the framework passes
 */
export type HandlerOptions<HostRequest = Request> = ServiceOptions<HostRequest> &
  Pick<ServerOptions, 'trustProxy'> & {
    /**
     * The client's address without its port, such as Hono's `getConnInfo(context).remote.address`. Without this
     * function, all clients share one client's limits, unless `trustProxy` finds their addresses.
     */
    readonly clientAddress?: ((request: HostRequest) => string | undefined) | undefined;
  } & (HostRequest extends Request
    ? { readonly toRequest?: ((request: HostRequest) => Request) | undefined }
    : {
        /** Gets the `Request` (Fetch standard) out of the value that the framework passes to the handler. */
        readonly toRequest: (request: HostRequest) => Request;
      });

/** The resolved options. An option that only one function uses may still be absent; that function has the default. */
export interface Settings extends Omit<ServiceOptions, 'pushServices'> {
  readonly previousVapidPublicKeys: readonly string[];
  readonly prefix: string;
  readonly logging: readonly LoggingMechanism[];
  readonly log: Log;
  readonly rules: ResponseRules;
  readonly endpointPolicy: EndpointPolicy;
}

/**
 * @param toHookRequest finds the request that hooks receive
 * @throws {DeskbellError} ERR_CONFIGURATION if an option is not usable
 */
export function resolveOptions<Request>(
  options: ServiceOptions<Request>,
  checks: OptionChecks<object>,
  toHookRequest: (request: FastifyRequest) => Request,
  defaults = { redactSubscriptions: true },
): Settings {
  checkOptions(options, checks, { required: ['store', 'vapidPublicKey', 'sessionKey'] });
  const { pushServices = [], onSubscribe, onUnsubscribe, ...given } = options;
  const { previousVapidPublicKeys = [], prefix = '', logging = ['filter'] } = given;
  const log = guardLog(given.log ?? createLog());
  return {
    ...given,
    redactSubscriptions: given.redactSubscriptions ?? defaults.redactSubscriptions,
    onSubscribe: onSubscribe && ((offered, request) => onSubscribe(offered, toHookRequest(request))),
    onUnsubscribe: onUnsubscribe && ((stored, request) => onUnsubscribe(stored, toHookRequest(request))),
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
  };
}

const isPositive = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0;
const isListOf = (items: RegExp, value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string' && items.test(item));

const whole = mustBe('a whole number above 0', isPositive);
const milliseconds = mustBe('a whole number of milliseconds above 0', isPositive);

export const serviceChecks: OptionChecks<ServiceOptions> = {
  store: isStore,
  vapidPublicKey: isPublicKey,
  previousVapidPublicKeys(value, name) {
    mustBe('an array of public keys', Array.isArray)(value, name);
    for (const key of value as readonly unknown[]) isPublicKey(key, name);
  },
  sessionKey: isSecret(32),
  pushOnly: isFlag,
  exampleUsers: isObject,
  sendCommand: isText,
  prefix: mustBe(
    'a path such as "/push", without "/" at its end',
    (value) => typeof value === 'string' && pathPrefix.test(value),
  ),
  pushServices: mustBe(
    'an array of origins, or "public"',
    (value) => value === 'public' || isListOf(/^/, value),
  ),
  maxPushServices: whole,
  logging: mustBe('an array of "action", "filter", "authenticator" and "action-creator"', (value) =>
    isListOf(/^(?:action|filter|authenticator|action-creator)$/, value),
  ),
  authenticate: mustBe(
    '"none", "all" or an array of "get", "getWithArg" and "post"',
    (value) => value === 'none' || value === 'all' || isListOf(/^(?:get|getWithArg|post)$/, value),
  ),
  redactSubscriptions: isFlag,
  bodyLimitBytes: whole,
  registrations: mustBe('"open" or "invited"', (value) => value === 'open' || value === 'invited'),
  registrationsPerMinute: isRequestLimit,
  receiptKey: isSecret(receiptKeyBytes),
  receiptsPerMinute: isRequestLimit,
  channels: isFlag,
  log: isLog,
  subscriberTokens: areSubscriberTokens,
  onSubscribe: isFunction,
  onUnsubscribe: isFunction,
  authorize: isFunction,
  readWarnings: isFunction,
};

const httpChecks: OptionChecks<HttpServerOptions> = {
  trustProxy: mustBe(
    'an address or range, an array of them, true or false (a number of hops would trust nobody)',
    (value) => typeof value === 'boolean' || isListOf(/^/, [value].flat()),
  ),
  headersTimeoutMs: milliseconds,
  requestTimeoutMs: milliseconds,
  keepAliveTimeoutMs: milliseconds,
  readTimeoutMs: milliseconds,
  closeGraceMs: milliseconds,
  timeoutCheckIntervalMs: milliseconds,
  maxHeaderBytes: whole,
  maxConnections: whole,
  maxConnectionsPerClient: whole,
};

export const serverChecks: OptionChecks<ServerOptions> = { ...serviceChecks, ...httpChecks };

const { prefix: _, ...mountedChecks } = serviceChecks;

export const middlewareChecks: OptionChecks<MiddlewareOptions> = {
  ...mountedChecks,
  trustProxy: httpChecks.trustProxy,
};

export const handlerChecks: OptionChecks<HandlerOptions> = {
  ...middlewareChecks,
  prefix: serviceChecks.prefix,
  toRequest: isFunction,
  clientAddress: isFunction,
};

function isPublicKey(...[value, name]: Parameters<OptionCheck>): void {
  if (!isVapidPublicKey(value))
    throw wrong(name, 'must be a public key: 87 characters of unpadded base64url, a point on P-256');
}
