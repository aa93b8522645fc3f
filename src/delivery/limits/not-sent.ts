// Why a message was not sent.
import type { FailureReason } from '../../protocol/outcome.ts';
import type { RejectionReason } from '../../protocol/refusal-reason.ts';

export const notListedReason = 'not-listed';

/** Reason of an alarm about no push service: since none has answered, no answer can show a wrong clock. */
export const expiredUnsentReason = 'expired-unsent';

/** Never to be sent. */
export interface NotSendable {
  readonly reason: RejectionReason;
  readonly detail: string;
}

export type NotSent =
  | { readonly kind: 'notSendable'; readonly fault: NotSendable }
  /** This process's configuration does not list the push service: left to a sender whose configuration does. */
  | { readonly kind: 'notListed'; readonly detail: string }
  | { readonly kind: 'expired' }
  /** The person has already been reached as often as the broadcast allows. */
  | { readonly kind: 'capped' }
  /** Nobody has listed its push service, which has never accepted anything: it has lost its place (`store/unlisted-push-services.ts`). */
  | { readonly kind: 'dormant' }
  /** The push service refuses our token or key: kept until it accepts a message, or until its time is over. */
  | { readonly kind: 'suspended' }
  /** Its reader's quiet hours end after this time. */
  | { readonly kind: 'quiet'; readonly afterMs: number }
  /** Its push service has a rate limit; its turn comes after this time. */
  | { readonly kind: 'rateLimited'; readonly afterMs: number }
  /** Too many messages already wait for its push service here; it comes back after this time. */
  | { readonly kind: 'waits'; readonly afterMs: number }
  /** The push service must not be contacted before that. */
  | {
      readonly kind: 'deferred';
      readonly afterMs: number;
      readonly detail: string;
      /** If set, operators should know: it keeps everything from being sent there. */
      readonly obstacle?: FailureReason | undefined;
    };
