// Events for the operator's webhook, stored where they happen, in the same transaction, whichever process that is; they leave
// once they are delivered. Nothing is stored unless somebody has asked for deliveries within the last days. Types only.
import type { Alarm } from './broadcasts.ts';

interface Common {
  /** 32 hexadecimal digits, the same at each try. */
  readonly id: string;
  readonly atMs: number;
  /** Tries so far. */
  readonly attempts: number;
}

export type WebhookEvent = Common &
  (
    | {
        /** A subscription left the store, since its push service called it gone. */
        readonly type: 'subscription.gone';
        readonly subscriptionId: number;
        readonly user?: string | undefined;
      }
    | { readonly type: 'broadcast.done'; readonly broadcastId: number }
    | ({ readonly type: 'alarm'; readonly broadcastId: number } & Pick<
        Alarm,
        'origin' | 'reason' | 'detail' | 'rows'
      >)
  );

export interface WebhookOutbox {
  /** Has events stored from now on, for some days after the last call. */
  watch(): Promise<void>;
  /** Events that are due, oldest first; nobody else gets them for `leaseMs`. Those that are days old are dropped. */
  lease(range: { readonly limit: number; readonly leaseMs: number }): Promise<readonly WebhookEvent[]>;
  /** It is due again after this time. */
  postpone(id: string, delayMs: number): Promise<void>;
  /** It was delivered, or never will be. */
  remove(id: string): Promise<void>;
  count(): Promise<number>;
}
