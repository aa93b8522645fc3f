// Why a message was not sent. Types only.
import type { RejectionReason } from '../../protocol/refusal-reason.ts';

/** Never to be sent. */
export interface Refusal {
  readonly reason: RejectionReason;
  readonly detail: string;
}

export type NotSent =
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Its time is over. */
  | { readonly kind: 'expired' }
  /** The person has been reached as often as the broadcast allows. */
  | { readonly kind: 'capped' }
  /** The push service refuses our token or key: kept until it accepts a message, or until its time is over. */
  | { readonly kind: 'heldBack' }
  /** Its push service has a rate limit, and this is its turn, from now. */
  | { readonly kind: 'putOff'; readonly afterMs: number }
  /** The push service is not to be written to before that. */
  | {
      readonly kind: 'deferred';
      readonly afterMs: number;
      readonly detail: string;
      /** An operator should hear of it: the push service breaks HTTP again and again. */
      readonly alarm?: 'protocol-error' | undefined;
    };
