// What was measured, by entrant and round.
import { spreadOf, type Spread } from '../measure/statistics.ts';
import type { EcLimits, EcMethod } from './ec-limit.ts';
import type { EntrantId } from './entrants.ts';
import type { Measured } from './measure.ts';

interface MeasuredRun extends Pick<Measured, 'cpuMicroseconds'> {
  readonly messages: number;
}

/** CPU microseconds of each message that the longer run had more: what it costs once everything is loaded and compiled. */
export function slopeOf(shorter: MeasuredRun, longer: MeasuredRun): number {
  const total = ({ cpuMicroseconds, messages }: MeasuredRun): number => cpuMicroseconds * messages;
  return (total(longer) - total(shorter)) / (longer.messages - shorter.messages);
}

export class Results {
  readonly #rounds = new Map<EntrantId, Measured[]>();
  readonly #slopes = new Map<EntrantId, number[]>();
  /** Round by round; empty where there is no accelerator. */
  readonly ecLimits: EcLimits[] = [];
  /** What two processes do at once of what one does alone, round by round; empty where there is no accelerator. */
  readonly ecScalings: number[] = [];

  add(id: EntrantId, measured: Measured): void {
    this.#rounds.set(id, [...(this.#rounds.get(id) ?? []), measured]);
  }

  addSlope(id: EntrantId, cpuMicroseconds: number): void {
    this.#slopes.set(id, [...(this.#slopes.get(id) ?? []), cpuMicroseconds]);
  }

  /** `undefined` for those of whom no shorter run was measured. */
  slope(id: EntrantId): Spread | undefined {
    const slopes = this.#slopes.get(id);
    return slopes && spreadOf(slopes);
  }

  has(id: EntrantId): boolean {
    return this.#rounds.has(id);
  }

  spread(id: EntrantId, figure: keyof Measured): Spread {
    return spreadOf(this.#of(id).map((measured) => measured[figure]));
  }

  /** Of `one` to `other`, within each round. */
  ratio(figure: keyof Measured, one: EntrantId, other: EntrantId): Spread {
    const others = this.#of(other);
    return spreadOf(
      this.#of(one).map((measured, round) => measured[figure] / (others[round]?.[figure] ?? Number.NaN)),
    );
  }

  /**
   * What the machine's cores could do, all of them busy with this entrant and its push service and nothing else.
   *
   * @returns messages per second, and the share of it that was reached, within each round
   */
  bound(id: EntrantId, cores: number): { readonly perSecond: Spread; readonly share: Spread } {
    const bounds = this.#of(id).map(
      ({ cpuMicroseconds, serviceMicroseconds }) => (cores * 1e6) / (cpuMicroseconds + serviceMicroseconds),
    );
    return {
      perSecond: spreadOf(bounds),
      share: spreadOf(this.#of(id).map(({ perSecond }, round) => perSecond / (bounds[round] ?? Number.NaN))),
    };
  }

  limit(method: EcMethod): Spread {
    return spreadOf(this.ecLimits.map((limits) => limits[method]));
  }

  /** What the limit is of what the entrant takes, within each round. */
  shareOfLimit(id: EntrantId, method: EcMethod): Spread {
    return this.#shareOf(
      this.#of(id).map(({ cpuMicroseconds }) => cpuMicroseconds),
      method,
    );
  }

  /** The same of its slope. */
  slopeShareOfLimit(id: EntrantId, method: EcMethod): Spread {
    return this.#shareOf(this.#slopes.get(id) ?? [], method);
  }

  #shareOf(microseconds: readonly number[], method: EcMethod): Spread {
    return spreadOf(
      this.ecLimits.map((limits, round) => limits[method] / (microseconds[round] ?? Number.NaN)),
    );
  }

  #of(id: EntrantId): readonly Measured[] {
    return this.#rounds.get(id) ?? [];
  }
}
