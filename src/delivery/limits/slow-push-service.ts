// When a push service is slow: many of its rows have been without an answer for long, or some are and it answers nothing at
// all. Then it gets no further ones, so that other push services are served meanwhile.
import type { NotSent } from '../message-path/not-sent.ts';
import type { WorkerSettings } from '../worker/worker-settings.ts';

export type SlownessSettings = Pick<WorkerSettings, 'slowRows' | 'slowAfterMs'>;

/** Of one push service, as one worker sees it. */
export class Slowness {
  readonly #settings: SlownessSettings;
  /** When rows were sent that are stored one by one until they are answered; the oldest first. */
  readonly #detachedSinceMs = new Map<object, number>();
  #isSlow = false;
  #answeredAtMs = 0;

  constructor(settings: SlownessSettings) {
    this.#settings = settings;
  }

  /** @returns `undefined` where it is not slow */
  defer(nowMs: number): NotSent | undefined {
    if (!this.#isSlowNow(nowMs)) return undefined;
    const detail = 'The push service takes long to answer.';
    return { kind: 'deferred', afterMs: this.#settings.slowAfterMs, detail };
  }

  /** It has answered, whatever it said: it is not silent. */
  recordAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
  }

  /**
   * True where one more row may be detached from its page. A push service has capacity for some; when it turns out to be
   * slow, all that were sent to it are detached and no more follow.
   *
   * @param hasCapacity false where what is left of it is for those of slow push services
   */
  mayDetach(nowMs: number, hasCapacity: boolean): boolean {
    return (hasCapacity && this.#detachedSinceMs.size < this.#settings.slowRows) || this.#isSlowNow(nowMs);
  }

  /** The row is stored by itself until it is answered. */
  addDetached(row: object, sentAtMs: number): void {
    this.#detachedSinceMs.set(row, sentAtMs);
  }

  removeDetached(row: object): void {
    this.#detachedSinceMs.delete(row);
  }

  #isSlowNow(nowMs: number): boolean {
    const { slowRows, slowAfterMs } = this.#settings;
    const detached = this.#detachedSinceMs.size;
    if (detached < slowRows / 2) this.#isSlow = false;
    if (detached === 0) return false;
    const [oldestMs = nowMs] = this.#detachedSinceMs.values();
    if (detached >= slowRows) this.#isSlow ||= nowMs - oldestMs >= slowAfterMs;
    return this.#isSlow || nowMs - Math.max(oldestMs, this.#answeredAtMs) >= slowAfterMs;
  }
}
