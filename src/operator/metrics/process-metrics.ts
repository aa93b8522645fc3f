// What this process has measured since it was started.
import type { DeliveryFigures } from '../../delivery/figures.ts';
import { DurationTally } from '../../delivery/duration-buckets.ts';
import { BoundedNames } from './bounded-names.ts';

/** What came of a registration: stored, refused as not valid, refused as too many, or failed on our side. */
const registrationResults = ['stored', 'refused', 'limited', 'failed'] as const;
export type RegistrationResult = (typeof registrationResults)[number];

export class ProcessMetrics {
  /** By push service. */
  readonly answers = new Map<string, DurationTally>();
  readonly commits = new DurationTally();
  leasesLost = 0;
  readonly registrations = new Map<RegistrationResult, number>(
    registrationResults.map((result) => [result, 0]),
  );

  readonly #names: BoundedNames;

  constructor(names: BoundedNames) {
    this.#names = names;
  }

  recordFigures({ answers, commits, leasesLost }: DeliveryFigures): void {
    for (const { pushService, ...counts } of answers) {
      const name = this.#names.admit(pushService);
      let durations = this.answers.get(name);
      if (durations === undefined) {
        durations = new DurationTally();
        this.answers.set(name, durations);
      }
      durations.addCounts(counts);
    }
    this.commits.addCounts(commits);
    this.leasesLost += leasesLost;
  }

  recordRegistration(result: RegistrationResult): void {
    this.registrations.set(result, (this.registrations.get(result) ?? 0) + 1);
  }
}
