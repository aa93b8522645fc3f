// The result of an import: counts, and one sentence for each cause, however many rows it concerns.
import type { FieldError } from '../../errors/deskbell-error.ts';
import { countOf, formatCount } from '../../errors/format-count.ts';

export interface RowFault {
  readonly line: number;
  readonly errors: readonly FieldError[];
}

export interface ImportCounts {
  imported: number;
  /** Already stored, or in an earlier row. */
  updated: number;
  refused: number;
  leftOut: number;
}

/** How many different causes are printed; --refused has all rows. */
const maxCauses = 20;
const maxShown = 10;

/** A number of rows, with the first few as examples. */
interface Noted {
  count: number;
  readonly shown: string[];
}

export class ImportReport {
  readonly counts: ImportCounts = { imported: 0, updated: 0, refused: 0, leftOut: 0 };
  readonly #causes = new Map<string, Noted>();
  readonly #named = new Map<string, Noted>();
  readonly #facts = new Map<string, Noted>();

  /** @returns what to print now; undefined if an earlier row had the same cause */
  refuse({ line, errors }: RowFault): string | undefined {
    this.counts.refused += 1;
    const text = errors
      .map(({ pointer, code, detail }) => `${pointer && `${pointer}: `}${detail} [${code}]`)
      .join('\n');
    // causes that differ only in numbers, such as a length, count as one
    const isNew = note(this.#causes, text.replaceAll(/\d+/g, '0'), String(line));
    return isNew && this.#causes.size <= maxCauses ? `line ${line}: ${text}` : undefined;
  }

  /** @param name what the value is, if it is not a row of subscriptions or was excluded */
  leaveOut(name: string, line: number): void {
    this.counts.leftOut += 1;
    note(this.#named, `${name}, left out`, String(line));
  }

  /** A row that was imported but needs attention. */
  remark(name: string, line: number): void {
    note(this.#named, name, String(line));
  }

  /** @param fact what was not understood, in the plural */
  leaveOutFact(fact: string, value: unknown): void {
    // a column with another meaning may hold anything
    const isShown =
      typeof value === 'string' && fact !== 'choices of channels' && /^[\p{L}\d/:., _+-]{1,20}$/u.test(value);
    note(this.#facts, fact, isShown ? value : undefined);
  }

  /** Facts that were left out, by kind. */
  get factsLeftOut(): Readonly<Record<string, number>> {
    return Object.fromEntries(Array.from(this.#facts, ([fact, { count }]) => [fact, count]));
  }

  sentences(): readonly string[] {
    const causes = [...this.#causes.values()];
    const untold = causes.slice(maxCauses).reduce((sum, { count }) => sum + count, 0);
    return [
      ...causes
        .slice(0, maxCauses)
        .filter(({ count }) => count > 1)
        .map(
          ({ count, shown: [first, ...others] }) =>
            `The same as line ${first} in ${countOf(count - 1, 'more line')}: ${list(others, count - 1)}`,
        ),
      ...(untold > 0
        ? [`And ${countOf(untold, 'line')} for other reasons; --refused keeps all of them.`]
        : []),
      ...Array.from(
        this.#named,
        ([name, { count, shown }]) => `${formatCount(count)} × ${name}: line ${list(shown, count)}`,
      ),
      ...Array.from(
        this.#facts,
        ([fact, { count, shown }]) =>
          `${formatCount(count)} × ${fact} not understood, left out${shown.length > 0 ? `: ${list([...new Set(shown)], count)}` : ''}`,
      ),
    ];
  }
}

/** @returns whether it is the first of its kind */
function note(notes: Map<string, Noted>, key: string, example: string | undefined): boolean {
  const noted = notes.get(key) ?? { count: 0, shown: [] };
  notes.set(key, noted);
  noted.count += 1;
  if (example !== undefined && noted.shown.length <= maxShown) noted.shown.push(example);
  return noted.count === 1;
}

const list = (shown: readonly string[], count: number): string =>
  `${shown.slice(0, maxShown).join(', ')}${count > Math.min(shown.length, maxShown) ? ' …' : ''}`;
