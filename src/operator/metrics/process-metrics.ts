// What this process has measured since it was started.
import { durationBoundsSeconds, type DeliveryFigures, type DurationCounts } from '../../delivery/figures.ts';
import { BoundedNames } from './bounded-names.ts';

/** What came of a registration: stored, refused as not valid, refused as too many, or failed on our side. */
export const registrationResults = ['stored', 'refused', 'limited', 'failed'] as const;
export type RegistrationResult = (typeof registrationResults)[number];

export class Durations {
  readonly counts = [...durationBoundsSeconds, Infinity].map(() => 0);
  sumSeconds = 0;

  add({ counts, sumSeconds }: DurationCounts): void {
    for (const [bucket, count] of counts.entries()) this.counts[bucket]! += count;
    this.sumSeconds += sumSeconds;
  }
}

export class ProcessMetrics {
  /** By push service. */
  readonly answers = new Map<string, Durations>();
  readonly commits = new Durations();
  leasesLost = 0;
  readonly registrations = new Map<RegistrationResult, number>(
    registrationResults.map((result) => [result, 0]),
  );

  readonly #names = new BoundedNames();

  recordFigures({ answers, commits, leasesLost }: DeliveryFigures): void {
    for (const { pushService, ...counts } of answers) {
      const name = this.#names.admit(pushService);
      let durations = this.answers.get(name);
      if (durations === undefined) {
        durations = new Durations();
        this.answers.set(name, durations);
      }
      durations.add(counts);
    }
    this.commits.add(commits);
    this.leasesLost += leasesLost;
  }

  recordRegistration(result: RegistrationResult): void {
    this.registrations.set(result, (this.registrations.get(result) ?? 0) + 1);
  }
}
