// May a worker write to this push service now? Everything that bears on the question is told to this one object: what
// the transport says (its circuit breaker and its queue), how long answers take, and what the answers were.
//
//   OPEN    messages pass
//   WAITING until a time: the transport said so; messages are deferred without being encrypted
//   SLOW    many rows have been without an answer for long, or some are and nothing is answered at all: messages are
//           deferred, so that other push services are served meanwhile
//   STOPPED the push service refuses all that we send (token, address): the rest of the broadcast is rejected
import type { Outcome } from '../protocol/outcome.ts';
import type { NotSent, Refusal } from './not-sent.ts';

/** So many refusals in a row, without one acceptance, mean all of them: a single odd row must not stop a service. */
const refusalsToStop = 20;
/** So many rows without an answer for so long speak of a slow push service; a single one does where it is silent. */
const slowRows = 256;
const slowAfterMs = 1000;

interface RefusalsInRow {
  count: number;
  refusal: Refusal;
}

export class OriginGate {
  #waitUntilMs = 0;
  #waitReason = '';
  /** When rows were sent that are stored one by one until they are answered; the oldest first. */
  readonly #detachedSinceMs = new Map<object, number>();
  #isSlow = false;
  #answeredAtMs = 0;
  readonly #refusals = new Map<number, RefusalsInRow>();

  /** @returns `undefined` where a message of the broadcast may be sent */
  admit(broadcastId: number, nowMs: number): NotSent | undefined {
    const refusals = this.#refusals.get(broadcastId);
    if (refusals !== undefined && refusals.count >= refusalsToStop) {
      return { kind: 'refused', refusal: refusals.refusal };
    }
    if (nowMs < this.#waitUntilMs) {
      return { kind: 'deferred', afterMs: this.#waitUntilMs - nowMs, detail: this.#waitReason };
    }
    if (this.#isSlowNow(nowMs)) {
      return { kind: 'deferred', afterMs: slowAfterMs, detail: 'The push service takes long to answer.' };
    }
    return undefined;
  }

  /** The transport takes nothing for it before that. */
  deferUntil(untilMs: number, reason: string): void {
    this.#waitUntilMs = Math.max(this.#waitUntilMs, untilMs);
    this.#waitReason = reason;
  }

  /** It has answered, whatever it said: it is not silent. */
  recordAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
  }

  recordOutcome(broadcastId: number, outcome: Outcome): void {
    if (outcome.kind === 'accepted') this.#refusals.delete(broadcastId);
    else if (outcome.kind === 'rejected' && outcome.scope === 'origin') {
      const { reason, detail = '' } = outcome;
      const count = (this.#refusals.get(broadcastId)?.count ?? 0) + 1;
      this.#refusals.set(broadcastId, { count, refusal: { reason, detail } });
    }
  }

  /**
   * True where one more row may be detached from its page. A push service has room for some; when it turns out to be
   * slow, all that were sent to it are detached and no more follow.
   *
   * @param hasRoom false where what is left of the room is for those of slow push services
   */
  mayDetach(nowMs: number, hasRoom: boolean): boolean {
    return (hasRoom && this.#detachedSinceMs.size < slowRows) || this.#isSlowNow(nowMs);
  }

  /** The row is stored by itself until it is answered. */
  addDetached(row: object, sentAtMs: number): void {
    this.#detachedSinceMs.set(row, sentAtMs);
  }

  removeDetached(row: object): void {
    this.#detachedSinceMs.delete(row);
  }

  #isSlowNow(nowMs: number): boolean {
    const detached = this.#detachedSinceMs.size;
    if (detached < slowRows / 2) this.#isSlow = false;
    if (detached === 0) return false;
    const [oldestMs = nowMs] = this.#detachedSinceMs.values();
    if (detached >= slowRows) this.#isSlow ||= nowMs - oldestMs >= slowAfterMs;
    return this.#isSlow || nowMs - Math.max(oldestMs, this.#answeredAtMs) >= slowAfterMs;
  }
}
