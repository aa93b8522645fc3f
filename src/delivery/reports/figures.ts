// Measurements of a worker for metrics: updated for each response and reported about once a second.
import { pushServiceName } from '../../protocol/known-push-services.ts';

/** The increase since the previous report. */
export interface DeliveryFigures {
  /** How long the responses to messages take. `pushService` is the name that `pushServiceName` returns. */
  readonly answers: readonly (DurationCounts & { readonly pushService: string })[];
  /** How long commits took. */
  readonly commits: DurationCounts;
  /** Leases that this worker did not renew in time, so that another worker took the slice. */
  readonly leasesLost: number;
}

export type OnFigures = (figures: DeliveryFigures) => void;

export class Figures {
  readonly #answers = new Map<string, DurationTally>();
  #commits = new DurationTally();
  #leasesLost = 0;

  recordAnswer(origin: string, milliseconds: number): void {
    let tally = this.#answers.get(origin);
    if (tally === undefined) {
      tally = new DurationTally();
      this.#answers.set(origin, tally);
    }
    tally.add(milliseconds / 1000);
  }

  recordCommit(milliseconds: number, isLeaseLost: boolean): void {
    this.#commits.add(milliseconds / 1000);
    if (isLeaseLost) this.#leasesLost += 1;
  }

  /** @returns the increase since the last call; `undefined` if there is none */
  take(): DeliveryFigures | undefined {
    const answers = [...this.#answers].map(([origin, tally]) => ({
      pushService: pushServiceName(origin),
      ...tally,
    }));
    const commits = { ...this.#commits };
    const leasesLost = this.#leasesLost;
    this.#answers.clear();
    this.#commits = new DurationTally();
    this.#leasesLost = 0;
    const isEmpty = answers.length === 0 && commits.counts.every((count) => count === 0);
    return isEmpty ? undefined : { answers, commits, leasesLost };
  }
}

/** Upper bounds of the buckets in `DurationCounts`. One more bucket counts longer durations. */
export const durationBoundsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

interface DurationCounts {
  /** Has one more element than `durationBoundsSeconds`. */
  readonly counts: readonly number[];
  readonly sumSeconds: number;
}

export class DurationTally implements DurationCounts {
  readonly counts = [...durationBoundsSeconds, Infinity].map(() => 0);
  sumSeconds = 0;

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < durationBoundsSeconds.length && seconds > durationBoundsSeconds[bucket]!) bucket += 1;
    this.counts[bucket]! += 1;
    this.sumSeconds += seconds;
  }

  addCounts({ counts, sumSeconds }: DurationCounts): void {
    for (const [bucket, count] of counts.entries()) this.counts[bucket]! += count;
    this.sumSeconds += sumSeconds;
  }
}
