// Whether a registration may change the row of its endpoint. A browser never changes the keys of an endpoint, and others
// than the browser know the endpoint too: its push service, whoever reads a log.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { normalizeEndpoint } from '../protocol/endpoint.ts';
import { isSameSecret } from '../protocol/same-secret.ts';
import type { Registration } from './subscriptions.ts';

/** Of the row with the endpoint of the registration. */
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

/** What a registration has to show beside its own `auth`: that of the row, or its user. */
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
