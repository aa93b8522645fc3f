// Subscriptions as they are stored.
import type { Choices } from '../audience/channels.ts';
import type { AudienceExpression, UserAndTags } from '../audience/user-and-tags.ts';
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

/** A subscription as stored. */
export interface StoredSubscription extends Subscription {
  /** Ascending in the order of first registration, never used again. */
  readonly id: number;
  /** The VAPID public key that it was made with: 87 characters of base64url. */
  readonly vapidPublicKey: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** `undefined`: anonymous. */
  readonly user: string | undefined;
  /** In the order of their names. */
  readonly tags: readonly string[];
  /** The browser's language. The person's own takes precedence. */
  readonly language: string | undefined;
  /** The same. */
  readonly timeZone: string | undefined;
  /** Made in this browser. Those of the person come before them. */
  readonly channels: Choices;
}

/** What code stores that may change every row. */
export interface NewSubscription {
  readonly subscription: Subscription;
  readonly vapidPublicKey: string;
  /** Replaces user and tags. Default: a row keeps them, and a new one has none. */
  readonly assign?: UserAndTags | undefined;
  /** For a new row: when it was first registered elsewhere, at the latest now. Default: now. */
  readonly createdAtMs?: number | undefined;
  /** BCP 47, in its canonical spelling. Default: a row keeps its own. */
  readonly language?: string | undefined;
  /** The IANA name. Default: a row keeps its own. */
  readonly timeZone?: string | undefined;
  /** Choices for channels for which the row has none. */
  readonly channels?: Choices | undefined;
}

/**
 * What a browser asks to store, or a stranger: knowing an endpoint proves nothing. If its row has another `auth`, `former` must
 * name that row with its `auth`, or `provenUser` must be its user.
 */
export interface Registration extends NewSubscription {
  /**
   * The row that this one replaces in the browser. If `auth` is its own, its language, time zone and choices move here unless this one
   * has its own; user and tags move too, unless this one has any or `assign` is given.
   */
  readonly former?: FormerSubscription | undefined;
  /**
   * It is registered only because `former` is, which is deleted. Without that row ERR_NOT_INVITED, unless this one is stored: then
   * the answer to the same call was lost.
   */
  readonly replacesFormer?: boolean | undefined;
  /** Who the request is proved to come from, by a subscriber token for example. */
  readonly provenUser?: string | undefined;
  /** Hash of the token of an invitation, which is consumed with it. */
  readonly invitation?: Uint8Array | undefined;
}

/** By any spelling of scheme, host and port. */
export interface FormerSubscription {
  readonly endpoint: string;
  readonly auth: Uint8Array;
}

/** The most rows with one public key to look at, since a stranger can add such rows. */
export const maxRowsOfKey = 16;

export interface SubscriptionSearch {
  /** An expression that `checkExpression` returned. */
  readonly matching: AudienceExpression;
  /** Origin in its normal form. */
  readonly pushService: string;
  /** The condition that finds the rows; the rarer one is faster. */
  readonly by: 'matching' | 'pushService';
  readonly afterId: number;
  /** The most rows to look at. */
  readonly rows: number;
}

export interface SearchedSubscriptions {
  /** In the order of ids. */
  readonly found: readonly StoredSubscription[];
  /** How many rows were looked at. */
  readonly rows: number;
  /** The last one of them. */
  readonly throughId: number;
}

/** Stores, finds and deletes subscriptions. */
export interface SubscriptionStore {
  /**
   * Inserts a row, or replaces the keys of the one with the same endpoint in any spelling of scheme, host and port. For code that may
   * change every row. Durable when the promise resolves.
   *
   * @throws {DeskbellError} ERR_SUBSCRIPTION_LIMIT if a new row is one too many; ERR_FIELD_VALUE, ERR_FIELD_TYPE for a user,
   *   tags or a key that cannot be stored
   */
  put(
    subscription: Subscription,
    vapidPublicKey: string,
    options?: Pick<NewSubscription, 'assign'>,
  ): Promise<StoredSubscription>;
  /**
   * The same for many rows of an import, in one transaction and in their order.
   *
   * @returns how many rows are new
   */
  putAll(rows: readonly NewSubscription[]): Promise<number>;
  /**
   * The same for a request of a browser, whose right to the row is checked in the same transaction.
   * A new endpoint with the keys of a stored subscription is that of the same browser: if one row alone has both keys at the same push
   * service, and is anonymous or of the same user, it is replaced, and what it has moves as from a former one.
   *
   * @throws {DeskbellError} ERR_ENDPOINT_IN_USE if it has none, ERR_NOT_INVITED if its invitation cannot be used, and nothing is
   *   changed; ERR_SUBSCRIPTION_LIMIT
   */
  register(registration: Registration): Promise<StoredSubscription>;
  findById(id: number): Promise<StoredSubscription | undefined>;
  /** By any spelling of scheme, host and port. */
  findByEndpoint(endpoint: string): Promise<StoredSubscription | undefined>;
  /** @param by who does it, for `losses` */
  removeById(id: number, by?: string): Promise<boolean>;
  /** Removes the row only if `auth` is the row's own. By any spelling of scheme, host and port. */
  removeByEndpoint(endpoint: string, auth: Uint8Array): Promise<boolean>;
  /** @param matching only those that meet it; as `checkExpression` gives it */
  count(matching?: AudienceExpression): Promise<number>;
  /** Rows with `afterId < id ≤ throughId` in id order, at most `limit`: keyset, never offset. */
  page(range: {
    readonly afterId: number;
    readonly throughId?: number | undefined;
    readonly limit: number;
    /** Keeps only rows that match this expression, which `checkExpression` returned. */
    readonly matching?: AudienceExpression | undefined;
  }): Promise<readonly StoredSubscription[]>;
  /** The same of one push service. @param origin in its normal form */
  pageOfPushService(
    origin: string,
    range: { readonly afterId: number; readonly limit: number },
  ): Promise<readonly StoredSubscription[]>;
  /** Looks at so many rows that meet one of two conditions, for those that meet both. */
  search(range: SubscriptionSearch): Promise<SearchedSubscriptions>;
}

/** @throws {DeskbellError} ERR_FIELD_TYPE */
export function checkVapidPublicKey(key: unknown): asserts key is string {
  if (typeof key === 'string') return;
  throw wrong('vapidPublicKey', `must be the key that the subscription was made with, not ${kindOf(key)}`, {
    code: 'ERR_FIELD_TYPE',
  });
}

/**
 * @param subscription as it was found
 * @throws {DeskbellError} ERR_SUBSCRIPTION_NOT_FOUND if it was not
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
  /** When its browser was here last; less than `created_at_ms` for one that was imported and has not been here since. */
  readonly updated_at_ms: number;
  readonly user_name: string | null;
  readonly language: string | null;
  readonly time_zone: string | null;
  /** JSON */
  readonly channels: string | null;
}

/** @param channels as they are stored */
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

// Whether a registration may change the row of its endpoint. A browser never changes the keys of an endpoint, and others know the
// endpoint too: its push service, or whoever reads a log.

/** The row that has the registration's endpoint. */
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

/** What a registration shows beside its own `auth`: that of the row, or its user. */
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

// The optional limit on stored subscriptions, which never stops an update. They are counted at every thousandth insert, so each of
// several processes may exceed the limit by a thousand.

const insertsPerCount = 1000;
const countAgainAfterMs = 1000;
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

export class InsertBudget {
  readonly #limit: SubscriptionLimit;
  readonly #onWarning: (warning: string) => void;
  /** Rows that may still be inserted. */
  #capacity = 0;
  /** Inserts until the next count. */
  #inserts = 0;
  #countAgainAtMs = 0;
  #warned: 'no' | 'nearly' | 'full' = 'no';

  constructor(limit: SubscriptionLimit) {
    this.#limit = limit;
    this.#onWarning = guardCallback('subscriptionLimit.onWarning', (warning) => limit.onWarning?.(warning));
  }

  /** True if stored rows are to be counted before so many are inserted. */
  needsCount(inserts: number, nowMs: number): boolean {
    return this.#inserts < inserts && nowMs >= this.#countAgainAtMs;
  }

  setCount(rows: number, nowMs: number): void {
    const { maxSubscriptions } = this.#limit;
    this.#warn(rows);
    this.#capacity = Math.max(0, maxSubscriptions - rows);
    const rowsToWarning = Math.ceil(maxSubscriptions * warnAtShare) - rows;
    this.#inserts = Math.min(insertsPerCount, rowsToWarning > 0 ? rowsToWarning : this.#capacity);
    if (this.#capacity === 0) this.#countAgainAtMs = nowMs + countAgainAfterMs;
  }

  /** @throws {DeskbellError} ERR_SUBSCRIPTION_LIMIT if there is no room for so many rows */
  take(inserts: number): void {
    if (this.#capacity < inserts) {
      throw new DeskbellError(
        'ERR_SUBSCRIPTION_LIMIT',
        `The limit of ${this.#limit.maxSubscriptions} subscriptions is reached; those that are stored can still be updated.`,
      );
    }
    this.#capacity -= inserts;
    this.#inserts -= inserts;
  }

  #warn(rows: number): void {
    const { maxSubscriptions } = this.#limit;
    const state =
      rows >= maxSubscriptions ? 'full' : rows >= maxSubscriptions * warnAtShare ? 'nearly' : 'no';
    if (state === this.#warned) return;
    this.#warned = state;
    if (state === 'no') return;
    this.#onWarning(
      `${rows} of at most ${maxSubscriptions} subscriptions are stored` +
        (state === 'full' ? ': new ones are refused. Raise maxSubscriptions, or remove some.' : '.'),
    );
  }
}
