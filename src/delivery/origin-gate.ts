// What a worker has learnt about one push service while it works on one broadcast: whether to write to it now.
//
//   OPEN    → rows pass
//   WAITING until a time: the transport said so; rows are put off without being encrypted
//   SLOW    many rows have been out for long, or some have and nothing is answered at all: rows are put off, so that
//           other push services are served meanwhile
//   STOPPED the push service refuses all that we send (token, address): rows are rejected for the rest of the broadcast

/** So many refusals in a row, without one acceptance, mean all of them: a single odd row must not stop a service. */
const refusalsToStop = 20;
/** So many rows that hold up the page for so long speak of a slow push service; a single one does where it is silent. */
const slowRows = 256;
const slowAfterMs = 1000;

export interface Refusal {
  readonly reason: string;
  readonly detail: string;
}

export type Verdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'putOff'; readonly afterMs: number }
  | { readonly kind: 'stopped'; readonly refusal: Refusal };

const pass: Verdict = { kind: 'pass' };

export class OriginGate {
  #refusals = 0;
  #refusal: Refusal | undefined;
  #waitUntilMs = 0;
  /** When the rows that hold up their page were sent, the oldest first. */
  readonly #parkedSinceMs = new Map<object, number>();
  #isSlow = false;
  #answeredAtMs = 0;

  verdict(nowMs: number): Verdict {
    if (this.#refusal !== undefined && this.#refusals >= refusalsToStop) {
      return { kind: 'stopped', refusal: this.#refusal };
    }
    if (nowMs < this.#waitUntilMs) {
      return { kind: 'putOff', afterMs: this.#waitUntilMs - nowMs };
    }
    if (this.#isSlowNow(nowMs)) {
      return { kind: 'putOff', afterMs: slowAfterMs };
    }
    return pass;
  }

  /** Whatever it says: it is not silent. */
  answered(nowMs: number): void {
    this.#answeredAtMs = nowMs;
  }

  accepted(): void {
    this.#refusals = 0;
    this.#refusal = undefined;
  }

  /** All that is sent there would be refused like this row. */
  refused(refusal: Refusal): void {
    this.#refusals += 1;
    this.#refusal = refusal;
  }

  wait(untilMs: number): void {
    this.#waitUntilMs = Math.max(this.#waitUntilMs, untilMs);
  }

  /**
   * True where one more row may be set aside. A push service has room for some; when it turns out to be slow, all that
   * were sent to it go the same way and no more follow.
   *
   * @param hasRoom false where what is left of the room is for those of slow push services
   */
  mayPark(nowMs: number, hasRoom: boolean): boolean {
    return (hasRoom && this.#parkedSinceMs.size < slowRows) || this.#isSlowNow(nowMs);
  }

  /** The row holds up its page and was set aside. */
  park(row: object, sentAtMs: number): void {
    this.#parkedSinceMs.set(row, sentAtMs);
  }

  unpark(row: object): void {
    this.#parkedSinceMs.delete(row);
  }

  #isSlowNow(nowMs: number): boolean {
    const parked = this.#parkedSinceMs.size;
    if (parked < slowRows / 2) this.#isSlow = false;
    if (parked === 0) return false;
    const [oldestMs = nowMs] = this.#parkedSinceMs.values();
    if (parked >= slowRows) this.#isSlow ||= nowMs - oldestMs >= slowAfterMs;
    return this.#isSlow || nowMs - Math.max(oldestMs, this.#answeredAtMs) >= slowAfterMs;
  }
}
