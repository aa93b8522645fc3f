// The header fields of push requests, one object for all messages that share them: the transport encodes such an
// object once.
import type { PushHeaders } from '../../transport/transport.ts';
import { pushHeaders, type PushOptions } from '../../protocol/request.ts';
import type { VapidAuthorizer } from '../../protocol/vapid.ts';

export type HeaderSource = (origin: string, options: PushOptions) => PushHeaders;

interface CachedHeaders {
  readonly options: PushOptions;
  readonly authorization: string;
  readonly headers: PushHeaders;
}

/** An operator may admit a whole domain; more origins than these are not remembered. */
const maxOrigins = 256;
/** Broadcasts that run at the same time, and the TTL of retries, which is shorter. A topic of its own may come with
 *  every single message. */
const maxPerOrigin = 8;

/** Gives the same object again for the same origin and options until the origin's token is renewed. */
export function createHeaderSource(authorize: VapidAuthorizer): HeaderSource {
  const cached = new Map<string, CachedHeaders[]>();

  const cachedFor = (origin: string): CachedHeaders[] => {
    let found = cached.get(origin);
    if (found === undefined) {
      if (cached.size >= maxOrigins) cached.clear();
      found = [];
      cached.set(origin, found);
    }
    return found;
  };

  return (origin, options) => {
    const authorization = authorize(origin);
    const ofOrigin = cachedFor(origin);
    for (const one of ofOrigin) {
      if (one.authorization === authorization && isSame(one.options, options)) return one.headers;
    }
    const headers = pushHeaders(options, authorization, origin);
    if (ofOrigin.length >= maxPerOrigin) ofOrigin.length = 0;
    ofOrigin.push({ options: { ...options }, authorization, headers });
    return headers;
  };
}

function isSame(one: PushOptions, other: PushOptions): boolean {
  return one.ttlSeconds === other.ttlSeconds && one.urgency === other.urgency && one.topic === other.topic;
}
