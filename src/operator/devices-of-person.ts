// The devices of a person, which are all sent a message that is addressed to the person.
import { checkUser } from '../audience/user-and-tags.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { StoredSubscription, SubscriptionStore } from '../store/subscriptions.ts';

/** More would be a broadcast. */
const maxDevices = 100;

/** @throws {DeskbellError} ERR_SUBSCRIPTION_NOT_FOUND; ERR_FIELD_VALUE, also where there are too many */
export async function readDevices(
  user: string,
  subscriptions: SubscriptionStore,
): Promise<readonly StoredSubscription[]> {
  const matching = { user: checkUser(user, '/to/user') };
  const rows = await subscriptions.page({ afterId: 0, limit: maxDevices + 1, matching });
  if (rows.length === 0)
    throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'The user has no subscription.');
  if (rows.length <= maxDevices) return rows;
  throw new DeskbellError(
    'ERR_FIELD_VALUE',
    `The user has more than ${maxDevices} subscriptions; make a broadcast to this user.`,
  );
}
