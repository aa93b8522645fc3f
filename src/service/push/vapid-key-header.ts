// Reads the VAPID key that a browser subscribed with from a request header. Push services accept only messages signed
// with that key, so the service refuses keys that it does not have.
import type { IncomingHttpHeaders } from 'node:http';

import { decodeBase64, encodeBase64url } from '../../protocol/base64.ts';
import { ProblemError } from '../../http/problem.ts';
import type { Settings } from '../options.ts';
import { lookUp } from '../../errors/look-up.ts';

export const vapidKeyHeader = 'Deskbell-Vapid-Key';

export type VapidPublicKeys = Pick<Settings, 'vapidPublicKey' | 'previousVapidPublicKeys'>;

/**
 * Returns the public key of a registration: the current one if the header is absent.
 *
 * @throws {ProblemError} ERR_VAPID_KEY_UNKNOWN; its problem has the current key in `vapidPublicKey`
 */
export function readVapidKey(
  headers: IncomingHttpHeaders,
  { vapidPublicKey, previousVapidPublicKeys }: VapidPublicKeys,
): string {
  const value = lookUp(headers, vapidKeyHeader.toLowerCase());
  if (value === undefined) return vapidPublicKey;
  const bytes = decodeBase64(String(value));
  const named = bytes && encodeBase64url(bytes);
  const known = [vapidPublicKey, ...previousVapidPublicKeys].find((key) => key === named);
  if (known !== undefined) return known;
  throw new ProblemError(
    'ERR_VAPID_KEY_UNKNOWN',
    `${vapidKeyHeader} names no key of this service; subscribe again with the current one.`,
    { vapidPublicKey },
  );
}
