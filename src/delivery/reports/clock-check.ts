// Compares the store's clock with the `Date` in push services' responses from time to time. If our clock is hours
// ahead, push services refuse tokens, and messages expire early or late. Only warns, because either clock may be wrong.
import type { PushResponse } from '../../protocol/outcome.ts';

/** Responses may take a few seconds, and the `Date` header has a resolution of one second. */
export const toleratedClockMs = 3 * 60_000;

const lookEveryMs = 60_000;
/** Observations older than this are dropped. */
const validForMs = 5 * lookEveryMs;
/** Strangers can register endpoints at any number of hosts. */
const maxOrigins = 50;

interface Look {
  readonly atMs: number;
  /** The push service's clock minus ours. */
  readonly differenceMs: number;
}

export class ClockCheck {
  readonly #onWarning: (warning: string) => void;
  readonly #looks = new Map<string, Look>();
  #newestMs = 0;
  #isWrong = false;

  constructor(onWarning: (warning: string) => void) {
    this.#onWarning = onWarning;
  }

  /**
   * How far push services' clocks are ahead of the store's clock: the median, or the smaller of two differences.
   * `undefined` before the first response.
   */
  get differenceMs(): number | undefined {
    const sorted = [...this.#looks.values()]
      .filter(({ atMs }) => Math.abs(this.#newestMs - atMs) < validForMs)
      .map(({ differenceMs }) => differenceMs)
      .sort((one, other) => one - other);
    const [lower, upper] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
    if (lower === undefined || upper === undefined) return undefined;
    return Math.abs(lower) < Math.abs(upper) ? lower : upper;
  }

  /** @param nowMs the time by the store's clock */
  look(origin: string, { headers }: PushResponse, nowMs: number): void {
    const last = this.#looks.get(origin);
    if (last !== undefined && Math.abs(nowMs - last.atMs) < lookEveryMs) return;
    const theirMs = Date.parse(headers['date'] ?? '');
    if (Number.isNaN(theirMs)) return;
    if (this.#looks.size >= maxOrigins) this.#looks.clear();
    this.#looks.set(origin, { atMs: nowMs, differenceMs: theirMs - nowMs });
    this.#newestMs = nowMs;
    this.#report();
  }

  #report(): void {
    const differenceMs = this.differenceMs ?? 0;
    const isWrong = Math.abs(differenceMs) > toleratedClockMs;
    if (isWrong && !this.#isWrong) this.#onWarning(`${describeClock(differenceMs)} ${clockRemedy}`);
    this.#isWrong = isWrong;
  }
}

export const clockRemedy =
  'Set it, and keep it right with NTP. With PostgreSQL it is the clock of its server.';

/** @param differenceMs the push services' clocks minus the store's clock, from `ClockCheck` */
export function describeClock(differenceMs: number): string {
  const minutes = Math.round(Math.abs(differenceMs) / 60_000);
  return (
    `The clock is ${minutes} minutes ${differenceMs > 0 ? 'behind' : 'ahead of'} push services: messages may expire early or late, ` +
    'and push services may refuse tokens.'
  );
}
