// Subscriptions as they are stored. Types only.
import type { Subscription } from '../protocol/subscription.ts';
import type { AudienceExpression, UserAndTags } from './people.ts';

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
}

/** Whose a subscription is. Without either, a row keeps user and tags, and a new one has none. */
export interface PutOptions {
  /** Replaces user and tags. */
  readonly assign?: UserAndTags | undefined;
  /**
   * The row that this one takes the place of. Where `auth` is its own, its user and tags move here, unless this one has
   * any.
   */
  readonly former?: { readonly endpoint: string; readonly auth: Uint8Array } | undefined;
}

export interface SubscriptionStore {
  /** Inserts, or replaces the keys of the row with the same endpoint, in whatever spelling of scheme, host and port.
   *  Durable when the promise resolves.
   *  @throws {DeskbellError} ERR_SUBSCRIPTION_LIMIT where a new row is one too many */
  put(subscription: Subscription, vapidPublicKey: string, options?: PutOptions): Promise<StoredSubscription>;
  /** The same for many rows in one transaction (import). */
  putAll(
    rows: readonly {
      readonly subscription: Subscription;
      readonly vapidPublicKey: string;
      readonly assign?: UserAndTags | undefined;
    }[],
  ): Promise<void>;
  findById(id: number): Promise<StoredSubscription | undefined>;
  /** By any spelling of scheme, host and port. */
  findByEndpoint(endpoint: string): Promise<StoredSubscription | undefined>;
  removeById(id: number): Promise<boolean>;
  /** Removes the row only where `auth` is the row's own. By any spelling of scheme, host and port. */
  removeByEndpoint(endpoint: string, auth: Uint8Array): Promise<boolean>;
  /** @param matching only those that meet it; as `checkExpression` gives it */
  count(matching?: AudienceExpression): Promise<number>;
  /** Rows with `afterId < id ≤ throughId` in id order, at most `limit`: keyset, never offset. */
  page(range: {
    readonly afterId: number;
    readonly throughId?: number | undefined;
    readonly limit: number;
    /** Only the rows that meet it; as `checkExpression` gives it. */
    readonly matching?: AudienceExpression | undefined;
  }): Promise<readonly StoredSubscription[]>;
}
