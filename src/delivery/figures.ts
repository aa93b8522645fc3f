// What a worker measures, for metrics: an addition for each answer, and one report about once a second.
import { DurationTally, type DurationCounts } from './duration-buckets.ts';
import { pushServiceName } from '../protocol/known-push-services.ts';

/** What came in addition since the report before. */
export interface DeliveryFigures {
  /** From the write of a message to its connection until its answer; `pushService` as `pushServiceName` gives it. */
  readonly answers: readonly (DurationCounts & { readonly pushService: string })[];
  /** Of pages of rows. */
  readonly commits: DurationCounts;
  /** Slices that another worker took, since this one had not renewed its lease in time. */
  readonly leasesLost: number;
}

/** Told what was measured. */
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

  /** @returns what came since this was called before; `undefined` where nothing did */
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
