// Why a message was not sent.
import type { FailureReason } from '../../protocol/outcome.ts';
import type { RejectionReason } from '../../protocol/refusal-reason.ts';

/** Reason of an alarm. */
export const notListedReason = 'not-listed';

/** Reason of an alarm about no push service: since none has answered, no answer can show that the clock is wrong. */
export const expiredUnsentReason = 'expired-unsent';

/** Never to be sent. */
export interface NotSendable {
  readonly reason: RejectionReason;
  readonly detail: string;
}

export type NotSent =
  | { readonly kind: 'notSendable'; readonly fault: NotSendable }
  /** This process's configuration does not list the push service: it is for a sender whose configuration does. */
  | { readonly kind: 'notListed'; readonly detail: string }
  /** Its time is over. */
  | { readonly kind: 'expired' }
  /** The person has been reached as often as the broadcast allows. */
  | { readonly kind: 'capped' }
  /** Nobody has listed its push service, which has never accepted anything: it has lost its place (`store/unlisted-push-services.ts`). */
  | { readonly kind: 'dormant' }
  /** The push service refuses our token or key: kept until it accepts a message, or until its time is over. */
  | { readonly kind: 'suspended' }
  /** Its reader has quiet hours, which end after this time. */
  | { readonly kind: 'quiet'; readonly afterMs: number }
  /** Its push service has a rate limit, and this is its turn, from now. */
  | { readonly kind: 'rateLimited'; readonly afterMs: number }
  /** More messages wait for its push service than may wait here: it comes back after this time. */
  | { readonly kind: 'waits'; readonly afterMs: number }
  /** The push service is not to be written to before that. */
  | {
      readonly kind: 'deferred';
      readonly afterMs: number;
      readonly detail: string;
      /** An operator should hear of it: this keeps everything from being sent there. */
      readonly obstacle?: FailureReason | undefined;
    };
