// Decides whether a worker may write to a push service now. The decision depends on the transport (its circuit breaker
// and its queue) and on whether and how the push service responds.
//
//   OPEN       messages pass
//   WAITING    the transport defers; messages are deferred without being encrypted
//   SILENT     the push service does not respond (origin-load.ts); messages are deferred, so that others are served
//   SUSPENDED  the push service refuses our token or key, according to all workers together; messages are stored,
//              except for the probes that the store selects (store/push-services.ts)
import { isVapidRefusal, type Outcome } from '../../protocol/outcome.ts';
import { suspensionPolicy, type IfRefused, type PushServiceState } from '../../store/push-services.ts';
import { systemClock, type Clock } from '../../transport/clock.ts';
import type { Deferral } from '../../transport/transport.ts';
import type { NotSent } from './not-sent.ts';
import { OriginLoad, type LoadSettings } from './origin-load.ts';

/** Responses that have not been reported to the store yet. */
interface Answers {
  accepted: number;
  hasRefused: boolean;
  refusalsInRow: number;
  acceptedSubscriptionId: number | undefined;
  refusedSubscriptionIds?: number[];
  rejectedSubscriptionIds?: number[];
}

const noAnswers = (): Answers => ({
  accepted: 0,
  hasRefused: false,
  refusalsInRow: 0,
  acceptedSubscriptionId: undefined,
});

export class OriginGate {
  readonly load: OriginLoad;
  /** True if this process knows that the push service has accepted a message. */
  hasAccepted = false;
  /** When the push service last accepted a message, by the monotonic clock. */
  acceptedAtMs = Number.NEGATIVE_INFINITY;
  readonly #monotonicNow: Clock['monotonicNow'];
  #isSuspended = false;
  #refusalsToSuspend: number = suspensionPolicy.refusalsToSuspend;
  #answers: Answers | undefined;

  constructor(settings: LoadSettings, monotonicNow: Clock['monotonicNow'] = systemClock.monotonicNow) {
    this.load = new OriginLoad(settings);
    this.#monotonicNow = monotonicNow;
  }

  /**
   * @param isProbe true if the message tests whether the push service accepts messages again
   * @param deferral why the transport cannot send now; `undefined` if the transport can send
   * @returns `undefined` if a message may be sent
   */
  admit(isProbe: boolean, deferral: Deferral | undefined): NotSent | undefined {
    if (this.#isSuspended && !isProbe) return { kind: 'suspended' };
    return deferral ?? this.load.defer(this.#monotonicNow());
  }

  /**
   * @param subscriptionId the recipient's id, if the recipient is stored
   * @param ifRefused what to do with the row after a refusal
   */
  recordOutcome(outcome: Outcome, subscriptionId: number | undefined, ifRefused: IfRefused): void {
    if (outcome.kind !== 'accepted' && (!isVapidRefusal(outcome) || ifRefused === 'retry')) return;
    const answers = (this.#answers ??= noAnswers());
    if (outcome.kind !== 'accepted') {
      const isOwn = ifRefused === 'reject';
      const name = isOwn ? 'rejectedSubscriptionIds' : 'refusedSubscriptionIds';
      if (subscriptionId !== undefined) (answers[name] ??= []).push(subscriptionId);
      if (isOwn) return;
      answers.hasRefused = true;
      answers.refusalsInRow += 1;
      this.#isSuspended ||= answers.refusalsInRow >= this.#refusalsToSuspend;
    } else {
      answers.accepted += 1;
      this.hasAccepted = true;
      this.acceptedAtMs = this.#monotonicNow();
      answers.refusalsInRow = 0;
      answers.acceptedSubscriptionId = subscriptionId ?? answers.acceptedSubscriptionId;
      this.#isSuspended = false;
    }
  }

  /** @returns the responses that have not been reported to the store yet */
  takeAnswers(): Answers | undefined {
    const answers = this.#answers;
    this.#answers = undefined;
    return answers;
  }

  /** Updates the gate with what the store learned from all workers' responses. `undefined`: the store knows nothing. */
  setState(state: PushServiceState | undefined): void {
    this.#refusalsToSuspend = state?.refusalsToSuspend ?? suspensionPolicy.refusalsToSuspend;
    this.hasAccepted ||= state?.hasAccepted ?? false;
    const unreported = this.#answers?.refusalsInRow ?? 0;
    this.#isSuspended = (state?.isSuspended ?? false) || unreported >= this.#refusalsToSuspend;
  }
}
