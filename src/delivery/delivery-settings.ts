// What a worker needs beside its store, in a form that can be posted to a thread, and the parts made of it.
import type { Encrypt } from '../protocol/encryption.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import type { TransportOptions } from '../transport/transport.ts';
import type { VapidKeys } from '../protocol/vapid.ts';
import { createRequestFactory, type RequestFactory } from './request-factory.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** The pair that subscriptions were made with, and the contact that push services are told. */
export interface SenderVapid extends VapidKeys {
  /** `mailto:` or `https:` URI. */
  readonly subject: string;
  /** How long a token is valid, 60 to 86 400 (default 43 200: 12 hours). */
  readonly lifetimeSeconds?: number;
  /** Pairs of before, for subscriptions that were made with them. */
  readonly previousKeys?: readonly VapidKeys[];
}

export interface DeliverySettings {
  readonly vapid: SenderVapid;
  readonly transport: TransportOptions;
  readonly retryPolicy?: RetryPolicy;
  readonly leaseMs?: number;
}

/** @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION */
export function createRequests({ vapid, transport }: DeliverySettings, encrypt: Encrypt): RequestFactory {
  const { publicKey, privateKey, subject, lifetimeSeconds, previousKeys = [] } = vapid;
  return createRequestFactory({
    vapidKeys: [{ publicKey, privateKey }, ...previousKeys],
    subject,
    ...(lifetimeSeconds !== undefined && { lifetimeSeconds }),
    policy: createEndpointPolicy(transport.pushServices),
    encrypt,
  });
}
