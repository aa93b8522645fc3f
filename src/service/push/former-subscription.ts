// Finds the subscription that a registration replaces: a browser that had to subscribe anew names the former one in a
// request header, so that user and tags move to the new one. `auth` proves that it is its own. For the same endpoint,
// it permits changing the keys.
import type { IncomingHttpHeaders } from 'node:http';

import { DeskbellError } from '../../errors/deskbell-error.ts';
import { decodeBase64 } from '../../protocol/base64.ts';
import type { FormerSubscription } from '../../store/subscriptions.ts';
import { lookUp } from '../../errors/look-up.ts';

export const formerSubscriptionHeader = 'Deskbell-Former-Subscription';

/** @throws {DeskbellError} ERR_REQUEST_INVALID */
export function readFormerSubscription(headers: IncomingHttpHeaders): FormerSubscription | undefined {
  const value = lookUp(headers, formerSubscriptionHeader.toLowerCase());
  if (value === undefined) return undefined;
  const { endpoint, auth } = parse(String(value));
  const authBytes = typeof auth === 'string' ? decodeBase64(auth) : undefined;
  if (typeof endpoint === 'string' && authBytes !== undefined) return { endpoint, auth: authBytes };
  throw new DeskbellError(
    'ERR_REQUEST_INVALID',
    `${formerSubscriptionHeader} must be JSON with "endpoint" and "auth" (base64) of the former subscription.`,
  );
}

function parse(text: string): { readonly endpoint?: unknown; readonly auth?: unknown } {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch {
    return {};
  }
}
