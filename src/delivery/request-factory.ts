// Makes push requests of the rows of one broadcast: admits the endpoint, signs with the row's own VAPID key, encrypts.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Broadcast, Recipient } from '../store/broadcasts.ts';
import type { PushRequest } from '../transport/transport.ts';
import type { Encrypt } from '../protocol/encryption.ts';
import { splitEndpoint, type EndpointPolicy } from '../protocol/endpoint-policy.ts';
import type { Urgency } from '../protocol/request.ts';
import { createVapidAuthorizer, type VapidKeys } from '../protocol/vapid.ts';
import { createHeaderSource, type HeaderSource } from './header-source.ts';
import type { Refusal } from './origin-gate.ts';

export interface RequestFactory {
  /** Where a row's message goes, before anything is spent on it. */
  locate(recipient: Recipient): Location;
  /** @param ttlSeconds what is left of it for this row */
  make(
    recipient: Recipient,
    location: Location,
    broadcast: Broadcast,
    ttlSeconds: number,
  ): PushRequest | Refusal;
}

export interface Location {
  /** The endpoint's origin. */
  readonly origin: string;
  readonly path: string;
  /** Set where the origin is not admitted. */
  readonly refusal: Refusal | undefined;
}

export interface RequestFactoryOptions {
  /** The pair in use first, then those of before that some rows still have. */
  readonly vapidKeys: readonly [VapidKeys, ...VapidKeys[]];
  readonly subject: string;
  readonly lifetimeSeconds?: number;
  readonly policy: EndpointPolicy;
  readonly encrypt: Encrypt;
}

/** An operator may admit a whole domain; more of its hosts than these are not remembered. */
const maxOrigins = 1024;

export function createRequestFactory({
  vapidKeys,
  subject,
  lifetimeSeconds,
  policy,
  encrypt,
}: RequestFactoryOptions): RequestFactory {
  const headerSources = new Map<string, HeaderSource>();
  for (const { publicKey, privateKey } of vapidKeys) {
    const authorize = createVapidAuthorizer({
      keys: { publicKey, privateKey },
      subject,
      ...(lifetimeSeconds !== undefined && { lifetimeSeconds }),
    });
    headerSources.set(publicKey, createHeaderSource(authorize));
  }
  const [{ publicKey: currentKey }] = vapidKeys;
  const known = new Map<string, Omit<Location, 'path'>>();

  /** Scheme and host are the same for most rows: they are parsed and judged once. */
  const judge = (root: string): Omit<Location, 'path'> => {
    const fault = policy.check(root);
    const origin = fault === undefined ? splitEndpoint(root).origin : (URL.parse(root)?.origin ?? 'null');
    return { origin, refusal: fault && { reason: 'address-blocked', detail: fault.detail } };
  };

  return {
    locate({ endpoint }) {
      const pathStart = endpoint.indexOf('/', 'https://'.length);
      const root = endpoint.slice(0, pathStart + 1);
      // no path, or a query in its place: legal, and never seen
      if (pathStart === -1 || root.includes('?')) {
        const judged = judge(endpoint);
        return { ...judged, path: judged.refusal ? '/' : splitEndpoint(endpoint).path };
      }
      let found = known.get(root);
      if (found === undefined) {
        if (known.size >= maxOrigins) known.clear();
        found = judge(root);
        known.set(root, found);
      }
      return { origin: found.origin, refusal: found.refusal, path: endpoint.slice(pathStart) };
    },

    make(recipient, { origin, path }, { payload, urgency, topic }, ttlSeconds) {
      const headersFor = headerSources.get(recipient.vapidPublicKey ?? currentKey);
      if (headersFor === undefined) {
        const detail = 'The subscription was made with a VAPID key that is not ours.';
        return { reason: 'vapid-key-mismatch', detail };
      }
      const options = { ttlSeconds, urgency: urgency as Urgency };
      try {
        const headers = headersFor(origin, topic === undefined ? options : { ...options, topic });
        return { origin, path, headers, body: encrypt(payload, recipient) };
      } catch (error) {
        // a stored key that is no point must not take the worker down
        if (!(error instanceof DeskbellError)) throw error;
        return { reason: 'bad-encryption', detail: error.message };
      }
    },
  };
}
