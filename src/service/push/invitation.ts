// Who may register: everybody, or only those who are invited. A browser that is registered may always send its subscription again,
// and replace it by a new one.
import type { IncomingHttpHeaders } from 'node:http';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashInvitation, notInvited } from '../../store/invitations.ts';
import { isSameSecret } from '../../protocol/same-secret.ts';
import { hasRight } from '../../store/registration-right.ts';
import type { Registration } from '../../store/subscriptions.ts';
import type { Settings } from '../options.ts';

/** Has the token of an invitation. */
export const invitationHeader = 'Deskbell-Invitation';

/**
 * @returns the registration, with the invitation that it consumes
 * @throws {DeskbellError} ERR_NOT_INVITED
 */
export type Admit = (registration: Registration, headers: IncomingHttpHeaders) => Promise<Registration>;

export function createAdmit({ store, registrations = 'open' }: Settings): Admit {
  const { subscriptions, invitations } = store;

  const isRegistered = async (registration: Registration): Promise<boolean> => {
    const { subscription, former } = registration;
    const row = await subscriptions.findByEndpoint(subscription.endpoint);
    if (row !== undefined) return hasRight(row, registration);
    const formerRow = former && (await subscriptions.findByEndpoint(former.endpoint));
    return formerRow !== undefined && isSameSecret(formerRow.auth, former!.auth);
  };

  return async (registration, headers) => {
    const token = headers[invitationHeader.toLowerCase()];
    const isInvitedByToken = registration.assign !== undefined;
    if (isInvitedByToken || (token === undefined && registrations === 'open')) return registration;
    const invitation = token === undefined ? undefined : hashInvitation(String(token));
    const user = invitation && (await invitations.findUser(invitation, registration.subscription.endpoint));
    if (user !== undefined) return { ...registration, invitation, assign: { user } };
    if (await isRegistered(registration)) return registration;
    throw invitation === undefined
      ? new DeskbellError(
          'ERR_NOT_INVITED',
          'This service takes only browsers that its operator has invited. Ask for an invitation; the operator makes it with ' +
            '"deskbell invite".',
        )
      : notInvited();
  };
}
