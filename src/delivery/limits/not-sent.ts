// Why a message was not sent.
import type { RejectionReason } from '../../protocol/refusal-reason.ts';
import type { Deferral } from '../../transport/transport.ts';

export const notListedReason = 'not-listed';

/** The broadcast expired before anything was sent. Our clock may be wrong: only a response would have shown this. */
export const expiredUnsentReason = 'expired-unsent';

/** Why a message must never be sent. */
export interface NotSendable {
  readonly reason: RejectionReason;
  readonly detail: string;
}

export type NotSent =
  | Deferral
  | { readonly kind: 'notSendable'; readonly fault: NotSendable }
  /** This process's configuration does not list the push service. A sender that lists it may send the message. */
  | { readonly kind: 'notListed'; readonly detail: string }
  | { readonly kind: 'expired' }
  /** The person has already been contacted as often as the broadcast allows. */
  | { readonly kind: 'capped' }
  /** The unlisted push service has never accepted a message: broadcasts skip it (`store/unlisted-push-services.ts`). */
  | { readonly kind: 'dormant' }
  /** The push service refuses our token or key. The message waits until they are accepted, or until it expires. */
  | { readonly kind: 'suspended' }
  /** The reader's quiet hours end in this many milliseconds. */
  | { readonly kind: 'quiet'; readonly afterMs: number }
  /** The push service has a rate limit. The message's turn comes after this time. */
  | { readonly kind: 'rateLimited'; readonly afterMs: number }
  /** Too many messages for this push service already wait in memory. The message is read again after this time. */
  | { readonly kind: 'waits'; readonly afterMs: number };
