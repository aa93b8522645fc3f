// What delivery is told: keys, transport, and where it differs from the defaults. Everything but the functions of
// `TransportOptions` can be posted to a thread.
import type { EncryptionMethod } from '../accelerator/encryption-methods.ts';
import type { VapidKeys } from '../protocol/vapid.ts';
import type { TransportOptions } from '../transport/transport.ts';
import type { MaxRates } from './limits/max-rate.ts';
import type { RetryPolicy } from './worker/retry-policy.ts';
import type { WorkerSettings } from './worker/worker-settings.ts';

/** The pair that subscriptions were made with, and the contact that push services are told. */
export interface SenderVapid extends VapidKeys {
  /** `mailto:` or `https:` URI. */
  readonly subject: string;
  /** How long a token is valid, 60 to 86 400 (default 43 200: 12 hours). */
  readonly lifetimeSeconds?: number | undefined;
  /** Earlier pairs, for subscriptions that were made with them. */
  readonly previousKeys?: readonly VapidKeys[] | undefined;
  /** A data directory, whose key files are read again where a subscription names a key that is not among the pairs. */
  readonly keyDirectory?: string | undefined;
}

export interface DeliverySettings {
  readonly vapid: SenderVapid;
  readonly transport: TransportOptions;
  /** When and how often a row of a broadcast is tried again, where it differs from the defaults: tests make the waits short. */
  readonly retryPolicy?: Partial<RetryPolicy> | undefined;
  /** The fastest method of encryption that may be used: `multi-buffer` (default), `openssl` or `builtin`. */
  readonly encryption?: EncryptionMethod | undefined;
  /** Of the data directory, the same as the service's: makes the tokens by which browsers report on broadcasts with `receipts`. */
  readonly receiptKey?: Uint8Array | undefined;
  /** Limits of push services, which all workers on the store keep together. */
  readonly maxRates?: MaxRates | undefined;
  /** Sizes and times of the workers, where they differ from the defaults. */
  readonly worker?: Partial<WorkerSettings> | undefined;
}
