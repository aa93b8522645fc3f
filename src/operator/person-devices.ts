// The devices of a person as they are shown: those that are stored, and those that have ended and are still remembered.
import { checkUser } from '../audience/user-and-tags.ts';
import type { EndedSubscription } from '../store/ended-subscriptions.ts';
import type { Store } from '../store/store.ts';
import type { StoredSubscription } from '../store/subscriptions.ts';

/** Of each kind. */
export const maxShownDevices = 20;

export interface PersonDevices {
  /** The oldest first. */
  readonly stored: readonly StoredSubscription[];
  /** The latest first. */
  readonly ended: readonly EndedSubscription[];
  /** There are more than `maxShownDevices`. */
  readonly hasMore: boolean;
}

/** @throws {DeskbellError} ERR_FIELD_VALUE for a text that is no user */
export async function findPersonDevices(
  user: string,
  { subscriptions, ended }: Pick<Store, 'subscriptions' | 'ended'>,
): Promise<PersonDevices> {
  const matching = { user: checkUser(user, '/user') };
  const limit = maxShownDevices + 1;
  const [rows, gone] = await Promise.all([
    subscriptions.page({ afterId: 0, limit, matching }),
    ended.ofUser(user, limit),
  ]);
  return {
    stored: rows.slice(0, maxShownDevices),
    ended: gone.slice(0, maxShownDevices),
    hasMore: rows.length > maxShownDevices || gone.length > maxShownDevices,
  };
}

export const idsOf = ({ stored, ended }: PersonDevices): readonly number[] =>
  [...stored, ...ended].map(({ id }) => id).toSorted((one, other) => one - other);
