// Decides who may register: everybody, or only invited browsers. A registered browser may always send its subscription
// again, or replace it by a new one, which deletes the old one. So one invitation lets in one browser, however often it
// subscribes anew.
import type { IncomingHttpHeaders } from 'node:http';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hashInvitation, notInvited } from '../../store/invitations.ts';
import { isSameSecret } from '../../protocol/same-secret.ts';
import { hasRight } from '../../store/registration-right.ts';
import type { Registration } from '../../store/subscriptions.ts';
import type { Settings } from '../options.ts';
import { lookUp } from '../../errors/look-up.ts';

export const invitationHeader = 'Deskbell-Invitation';

/**
 * @returns the registration, with the invitation that it consumes
 * @throws {DeskbellError} ERR_NOT_INVITED
 */
export type Admit = (registration: Registration, headers: IncomingHttpHeaders) => Promise<Registration>;

export function createAdmit({ store, registrations = 'open' }: Settings): Admit {
  const { subscriptions, invitations } = store;

  /** @returns the registration with the row that it replaces; undefined if the browser is not registered */
  const asRegistered = async (registration: Registration): Promise<Registration | undefined> => {
    const { subscription, former } = registration;
    const row = await subscriptions.findByEndpoint(subscription.endpoint);
    if (row !== undefined) return hasRight(row, registration) ? registration : undefined;
    const formerRow = former && (await subscriptions.findByEndpoint(former.endpoint));
    if (formerRow === undefined || !isSameSecret(formerRow.auth, former!.auth)) return undefined;
    return { ...registration, replacesFormer: true };
  };

  return async (registration, headers) => {
    const token = lookUp(headers, invitationHeader.toLowerCase());
    const isInvitedByToken = registration.assign !== undefined;
    if (isInvitedByToken || (token === undefined && registrations === 'open')) return registration;
    const invitation = token === undefined ? undefined : hashInvitation(String(token));
    const user = invitation && (await invitations.findUser(invitation, registration.subscription.endpoint));
    if (user !== undefined) return { ...registration, invitation, assign: { user } };
    const registered = await asRegistered(registration);
    if (registered !== undefined) return registered;
    throw invitation === undefined
      ? new DeskbellError(
          'ERR_NOT_INVITED',
          'This service takes only browsers that its operator has invited. Ask for an invitation; the operator makes it with ' +
            '"deskbell invite".',
        )
      : notInvited();
  };
}
