// The header fields of push requests, one object for all messages that share them: the transport encodes such an
// object once.
import type { PushHeaders } from '../transport/transport.ts';
import { pushHeaders, type PushOptions } from '../webpush/request.ts';
import type { VapidAuthorizer } from '../webpush/vapid.ts';

export type HeaderSource = (origin: string, options: PushOptions) => PushHeaders;

/** A sender to one person at a time may use a topic per message; more than these are not kept. */
const maxKept = 256;

/** Gives the same object again for the same origin and options until the origin's token is renewed. */
export function createHeaderSource(authorize: VapidAuthorizer): HeaderSource {
  const kept = new Map<string, PushHeaders>();
  return (origin, options) => {
    const { ttlSeconds, urgency, topic } = options;
    const authorization = authorize(origin);
    const key = JSON.stringify([origin, ttlSeconds, urgency, topic]);
    const found = kept.get(key);
    if (found?.['authorization'] === authorization) return found;

    const headers = pushHeaders(options, authorization, origin);
    if (kept.size >= maxKept) kept.clear();
    kept.set(key, headers);
    return headers;
  };
}
