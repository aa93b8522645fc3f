// Whose subscriptions are, and what an operator does with a person.
import { checkNewUser, checkTags } from '../audience/user-and-tags.ts';
import type { SubscriptionSample } from './subscription-sample.ts';

/** How much of a person was in the store and is deleted. */
export interface RemovedPerson {
  readonly subscriptions: number;
  /** Subscriptions that had ended already, of which the application had not taken note. */
  readonly ended: number;
  /** Broadcasts that were for this person alone, with message and counts. */
  readonly broadcasts: number;
  /** Schedules that were for this person alone. */
  readonly schedules: number;
  /** Places in lists of recipients. */
  readonly recipients: number;
  /** That are known of broadcasts to others too. */
  readonly attempts: number;
  /** What their browsers have reported of notifications, and is still known by subscription. */
  readonly receipts: number;
}

/** What is not given stays as it is. */
export interface OwnerChange {
  /** `null`: nobody's. */
  readonly user?: string | null | undefined;
  /** All that it has from then on. */
  readonly tags?: readonly string[] | undefined;
}

type TagChange = Parameters<PeopleStore['changeTags']>[1];

/** Whose subscriptions are: users and tags. */
export interface PeopleStore {
  /**
   * Changes whose a subscription is.
   *
   * @returns false where there is no such subscription
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE; nothing is changed
   */
  assign(id: number, change: OwnerChange): Promise<boolean>;
  /** Clears user and tags where `auth` is the row's own. By any spelling of scheme, host and port. */
  signOut(endpoint: string, auth: Uint8Array): Promise<boolean>;
  /**
   * Adds tags to a subscription, or takes them away.
   *
   * @returns false where there is no such subscription
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE, also where it would have too many; nothing is changed
   */
  changeTags(
    id: number,
    change: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
  ): Promise<boolean>;
  /** Tags that subscriptions have, in the order of their names, with how many have each. */
  countTags(): Promise<readonly { readonly tag: string; readonly subscriptions: number }[]>;
  /**
   * About so many subscriptions from all of them at random, or all if there are no more. Reads about three times as many rows,
   * however many there are.
   *
   * @param random as `Math.random`, which is the default
   */
  sample(rows: number, random?: () => number): Promise<SubscriptionSample>;
  /** Deletes all that the store knows of a person. SQLite overwrites it in the database file. */
  remove(user: string): Promise<RemovedPerson>;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
export const checkOwnerChange = ({ user, tags }: OwnerChange): OwnerChange => ({
  user: user == null ? user : checkNewUser(user, '/user'),
  tags: tags && checkTags(tags, '/tags'),
});

/** @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE */
export const checkTagChange = ({ add = [], remove = [] }: TagChange): Required<TagChange> => ({
  add: checkTags(add, '/add'),
  remove: checkTags(remove, '/remove'),
});
