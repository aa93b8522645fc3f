// The devices of a person: all of them where a message is addressed to the person; where they are shown, also those that have
// ended and are still remembered.
import { checkUser } from '../audience/user-and-tags.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { EndedSubscription } from '../store/ended-subscriptions.ts';
import type { Store } from '../store/store.ts';
import type { StoredSubscription, SubscriptionStore } from '../store/subscriptions.ts';

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

/** Who is sent a message that is addressed to the person; more would be a broadcast. */
const maxAddressed = 100;

/** @returns all of them. @throws {DeskbellError} ERR_SUBSCRIPTION_NOT_FOUND; ERR_FIELD_VALUE, also where there are too many */
export async function readAddressedDevices(
  user: string,
  subscriptions: SubscriptionStore,
): Promise<readonly StoredSubscription[]> {
  const matching = { user: checkUser(user, '/to/user') };
  const rows = await subscriptions.page({ afterId: 0, limit: maxAddressed + 1, matching });
  if (rows.length === 0)
    throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'The user has no subscription.');
  if (rows.length <= maxAddressed) return rows;
  throw new DeskbellError(
    'ERR_FIELD_VALUE',
    `The user has more than ${maxAddressed} subscriptions; make a broadcast to this user.`,
  );
}
