// Stored subscriptions: their types, who may change them, and how many there may be.
import type { Choices } from '../audience/channels.ts';
import { type AudienceExpression, meets, type UserAndTags } from '../audience/user-and-tags.ts';
import {
  checkOptions,
  guardCallback,
  isFunction,
  isWholeNumber,
  kindOf,
  type OptionCheck,
  type OptionChecks,
  wrong,
} from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { normalizeEndpoint } from '../protocol/endpoint.ts';
import { isSameSecret } from '../protocol/bytes.ts';
import type { Subscription } from '../protocol/subscription.ts';

/** A stored subscription. */
export interface StoredSubscription extends Subscription {
  /** Increases in the order of first registration. Never reused. */
  readonly id: number;
  /** The VAPID public key that the subscription was made with: 87 base64url characters. */
  readonly vapidPublicKey: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** `undefined` if the subscription is anonymous. */
  readonly user: string | undefined;
  /** Ordered by name. */
  readonly tags: readonly string[];
  /** The browser's language. The person's language takes precedence. */
  readonly language: string | undefined;
  /** The browser's time zone. The person's time zone takes precedence. */
  readonly timeZone: string | undefined;
  /** Channels turned on or off in this browser. The person's own choices take precedence. */
  readonly channels: Choices;
}

/** A subscription to store, by a caller who may change any stored subscription. */
export interface NewSubscription {
  readonly subscription: Subscription;
  readonly vapidPublicKey: string;
  /** Replaces user and tags. Default: an existing row keeps its user and tags, and a new row has none. */
  readonly assign?: UserAndTags | undefined;
  /**
   * When the subscription was first registered in another system. Must not be in the future. Existing rows keep their
   * own time. Default: now.
   */
  readonly createdAtMs?: number | undefined;
  /** Canonical BCP 47 tag. Default: an existing row keeps its language. */
  readonly language?: string | undefined;
  /** IANA name. Default: an existing row keeps its time zone. */
  readonly timeZone?: string | undefined;
  /** Choices to store. A choice is stored only if the row has no choice for this channel yet. */
  readonly channels?: Choices | undefined;
}

/**
 * A subscription to register. It comes from a browser, or from somebody who only knows the endpoint. To change the
 * `auth` of a stored endpoint, the caller must prove that the subscription is theirs. There are two proofs: `former`
 * contains the stored endpoint and its stored `auth`, or `provenUser` is the user of the stored subscription.
 */
export interface Registration extends NewSubscription {
  /**
   * The browser's former row. If `auth` is right, the former language, time zone and choices move to the new row,
   * unless the new row has its own. User and tags move too, unless the new row has a user or tags, or `assign` is
   * given.
   */
  readonly former?: FormerSubscription | undefined;
  /**
   * True if the browser may register only because its new subscription replaces `former`. The registration deletes
   * `former`. If only the new subscription is stored, the response to an earlier, successful request was lost, and the
   * registration succeeds again. If neither is stored, the registration fails with ERR_NOT_INVITED.
   */
  readonly replacesFormer?: boolean | undefined;
  /** The user who made the request, as proven for example by a subscriber token. */
  readonly provenUser?: string | undefined;
  /** Hash of an invitation's token. The invitation is consumed in the same transaction. */
  readonly invitation?: Uint8Array | undefined;
}

/**
 * The subscription that a browser had before. The scheme, host and port of the former endpoint need not be normalized.
 */
export interface FormerSubscription {
  readonly endpoint: string;
  readonly auth: Uint8Array;
}

/** At most this many rows with the same public key are read, because a stranger can add such rows. */
export const maxRowsOfKey = 16;

export interface SubscriptionSearch {
  /** Must come from `checkExpression`. */
  readonly matching: AudienceExpression;
  /** Normalized origin. */
  readonly pushService: string;
  /** The condition by which rows are found. A more selective condition is faster. */
  readonly by: 'matching' | 'pushService';
  readonly afterId: number;
  readonly rows: number;
}

export interface SearchedSubscriptions {
  /** Ordered by id. */
  readonly found: readonly StoredSubscription[];
  readonly rows: number;
  /** The last id that was read. */
  readonly throughId: number;
}

/** Stores, finds and deletes subscriptions. */
export interface SubscriptionStore {
  /**
   * Inserts a row, or replaces the keys of the row with the same endpoint (scheme, host and port in any spelling). Only
   * code that may change any row should call this method. The change is durable when the promise resolves.
   *
   * @throws {DeskbellError} ERR_SUBSCRIPTION_LIMIT if a new row would exceed the limit; ERR_FIELD_VALUE, ERR_FIELD_TYPE
   *   for a user, tags or a key that cannot be stored
   */
  put(
    subscription: Subscription,
    vapidPublicKey: string,
    options?: Pick<NewSubscription, 'assign'>,
  ): Promise<StoredSubscription>;
  /**
   * Stores the rows of an import as `put` does, in one transaction and in the given order.
   *
   * @returns how many rows are new
   */
  putAll(rows: readonly NewSubscription[]): Promise<number>;
  /**
   * Stores a subscription as `put` does, for a request from a browser. Checks in the same transaction whether the
   * request may change the row. A new endpoint with the keys of a stored subscription belongs to the same browser. If
   * exactly one row at the push service has both keys, and is anonymous or has the same user, that row is replaced, and
   * its data moves to the new row, as with `former`.
   *
   * @throws {DeskbellError} ERR_ENDPOINT_IN_USE if the request may not change the row, ERR_NOT_INVITED if the
   *   invitation cannot be used, ERR_SUBSCRIPTION_LIMIT. If it throws, nothing has changed
   */
  register(registration: Registration): Promise<StoredSubscription>;
  findById(id: number): Promise<StoredSubscription | undefined>;
  /** Scheme, host and port of the endpoint need not be normalized. */
  findByEndpoint(endpoint: string): Promise<StoredSubscription | undefined>;
  /** @param by who removes the subscription, for `losses` */
  removeById(id: number, by?: string): Promise<boolean>;
  /** Removes the row only if `auth` is right. Scheme, host and port need not be normalized. */
  removeByEndpoint(endpoint: string, auth: Uint8Array): Promise<boolean>;
  /** @param matching counts only rows that match the expression, which must come from `checkExpression` */
  count(matching?: AudienceExpression): Promise<number>;
  /** Returns rows with `afterId < id ≤ throughId` in id order, at most `limit`. */
  page(range: {
    readonly afterId: number;
    readonly throughId?: number | undefined;
    readonly limit: number;
    /** Keeps only rows that match this expression, which must come from `checkExpression`. */
    readonly matching?: AudienceExpression | undefined;
  }): Promise<readonly StoredSubscription[]>;
  /**
   * Returns rows of one push service, as `page` does.
   *
   * @param origin normalized
   */
  pageOfPushService(
    origin: string,
    range: { readonly afterId: number; readonly limit: number },
  ): Promise<readonly StoredSubscription[]>;
  /** Reads rows by one condition, the expression or the push service, and returns those that meet both. */
  search(range: SubscriptionSearch): Promise<SearchedSubscriptions>;
}

/** What each database implements. */
export type SearchableSubscriptions = Omit<SubscriptionStore, 'search'>;

/** Adds `search`: selects rows by one condition, and filters them by the other. */
export const withSearch = (store: SearchableSubscriptions): SubscriptionStore => ({
  ...store,
  search: async ({ by, matching, pushService, afterId, rows: limit }) => {
    const isMatching = by === 'matching';
    const read = await (isMatching
      ? store.page({ afterId, limit, matching })
      : store.pageOfPushService(pushService, { afterId, limit }));
    const found = read.filter((row) =>
      isMatching ? row.endpoint.startsWith(`${pushService}/`) : meets(row, matching),
    );
    return { found, rows: read.length, throughId: read.at(-1)?.id ?? afterId };
  },
});

/** @throws {DeskbellError} ERR_FIELD_TYPE */
export function checkVapidPublicKey(key: unknown): asserts key is string {
  if (typeof key === 'string') return;
  throw wrong('vapidPublicKey', `must be the key that the subscription was made with, not ${kindOf(key)}`, {
    code: 'ERR_FIELD_TYPE',
  });
}

/**
 * @param subscription the result of a search
 * @throws {DeskbellError} ERR_SUBSCRIPTION_NOT_FOUND if nothing was found
 */
export function requireSubscription(
  subscription: StoredSubscription | undefined,
  id: number,
): StoredSubscription {
  if (subscription !== undefined) return subscription;
  throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', `There is no subscription ${id}.`);
}

export interface SubscriptionRow {
  readonly id: number;
  readonly endpoint: string;
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
  readonly public_key: string;
  readonly created_at_ms: number;
  /** When the browser last visited. This is before `created_at_ms` if the browser has not visited since an import. */
  readonly updated_at_ms: number;
  readonly user_name: string | null;
  readonly language: string | null;
  readonly time_zone: string | null;
  /** JSON */
  readonly channels: string | null;
}

/** @param channels in stored form */
export const readChoices = (channels: string | null): Choices =>
  channels === null ? {} : (JSON.parse(channels) as Choices);

export const toSubscription = (row: SubscriptionRow, tags: readonly string[]): StoredSubscription => ({
  id: row.id,
  endpoint: row.endpoint,
  p256dh: row.p256dh,
  auth: row.auth,
  vapidPublicKey: row.public_key,
  createdAtMs: row.created_at_ms,
  updatedAtMs: Math.max(row.updated_at_ms, row.created_at_ms),
  user: row.user_name ?? undefined,
  tags,
  language: row.language ?? undefined,
  timeZone: row.time_zone ?? undefined,
  channels: readChoices(row.channels),
});

// Decides whether a registration may change the row of its endpoint. A browser never changes an endpoint's keys, and
// others know the endpoint too: its push service, and anyone who reads a log.

/** The existing row with the registration's endpoint. */
interface OwnedRow {
  readonly auth: Uint8Array;
  readonly user: string | undefined;
}

interface ShownProof {
  readonly auth: Uint8Array | undefined;
  readonly user: string | undefined;
}

/** @throws {DeskbellError} ERR_ENDPOINT_IN_USE */
export function checkRight(row: OwnedRow, registration: Registration): void {
  if (!hasRight(row, registration)) throw endpointInUse();
}

export function hasRight(row: OwnedRow, registration: Registration): boolean {
  const { auth, user } = provenBy(registration);
  return (
    isSameSecret(row.auth, registration.subscription.auth) ||
    (auth !== undefined && isSameSecret(row.auth, auth)) ||
    (user !== undefined && row.user === user)
  );
}

/**
 * Returns what a registration shows to prove that it may change the stored row, apart from the `auth` of its own
 * subscription: the stored `auth`, or the row's user.
 */
export function provenBy({ subscription, former, provenUser }: Registration): ShownProof {
  const isOfRow =
    former !== undefined && normalizeEndpoint(former.endpoint) === normalizeEndpoint(subscription.endpoint);
  return { auth: isOfRow ? former.auth : undefined, user: provenUser };
}

export const endpointInUse = (): DeskbellError =>
  new DeskbellError(
    'ERR_ENDPOINT_IN_USE',
    'This endpoint is registered with other keys. Unsubscribe and subscribe again: the new subscription has another endpoint.',
  );

// The optional limit on stored subscriptions. It never prevents updates. If several processes insert rows in PostgreSQL
// at the same moment, the limit may be exceeded.

const warnAtShare = 0.9;

export interface SubscriptionLimit {
  readonly maxSubscriptions: number;
  /** Called when nine tenths of the limit are in use, and when the limit is reached. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

const limitChecks: OptionChecks<SubscriptionLimit> = {
  maxSubscriptions: isWholeNumber(0),
  onWarning: isFunction,
};

export const isSubscriptionLimit: OptionCheck = (value, name) =>
  checkOptions(value, limitChecks, { name, required: ['maxSubscriptions'] });

/**
 * Returns a function to call before rows are added, with the numbers of stored and new rows. It may call `onWarning`.
 *
 * @throws {DeskbellError} (the returned function) ERR_SUBSCRIPTION_LIMIT if the added rows would exceed the limit
 */
export function createLimitCheck(limit: SubscriptionLimit): (stored: number, added: number) => void {
  const { maxSubscriptions } = limit;
  const warn = guardCallback('subscriptionLimit.onWarning', (warning: string) => limit.onWarning?.(warning));
  let warned: 'no' | 'nearly' | 'full' = 'no';
  return (stored, added) => {
    const isNearlyFull = stored >= maxSubscriptions * warnAtShare;
    const state = stored >= maxSubscriptions ? 'full' : isNearlyFull ? 'nearly' : 'no';
    if (state !== warned && state !== 'no') {
      warn(
        `${stored} of at most ${maxSubscriptions} subscriptions are stored` +
          (state === 'full' ? ': new ones are refused. Raise maxSubscriptions, or remove some.' : '.'),
      );
    }
    warned = state;
    if (stored + added <= maxSubscriptions) return;
    throw new DeskbellError(
      'ERR_SUBSCRIPTION_LIMIT',
      `The limit of ${maxSubscriptions} subscriptions is reached; those that are stored can still be updated.`,
    );
  };
}
