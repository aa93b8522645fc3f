// Compares the store's time with the `Date` of push services' answers, now and then. It only warns: push services refuse tokens from a
// clock that is hours ahead, and messages expire early or late, but it may be the other clock that is wrong.
import type { PushResponse } from '../../protocol/outcome.ts';

/** Answers take some seconds, and a `Date` has whole seconds. */
export const toleratedClockMs = 3 * 60_000;

const lookEveryMs = 60_000;
/** Older observations are dropped. */
const validForMs = 5 * lookEveryMs;
/** Strangers can register endpoints at any number of hosts. */
const maxOrigins = 50;

interface Look {
  readonly atMs: number;
  /** Their clock minus ours. */
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
   * The median by which the clocks of push services are ahead of the store's; of two, the closer one. `undefined` before the first answer.
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

  /** @param nowMs the store's time */
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

/** @param differenceMs as `ClockCheck` has it */
export function describeClock(differenceMs: number): string {
  const minutes = Math.round(Math.abs(differenceMs) / 60_000);
  return (
    `The clock is ${minutes} minutes ${differenceMs > 0 ? 'behind' : 'ahead of'} push services: messages may expire early or late, ` +
    'and push services may refuse tokens.'
  );
}
