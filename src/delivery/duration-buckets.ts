// Durations, counted in buckets, as histograms of metrics have them.

/** Upper bounds of the buckets of `DurationCounts`; what takes longer is in one more. */
export const durationBoundsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

export interface DurationCounts {
  /** One count more than there are bounds. */
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
