// What comes of the rows of an import: counts, and one sentence for each cause, however many rows it has.
import type { FieldError } from '../../errors/deskbell-error.ts';
import { countOf, formatCount } from '../../errors/format-count.ts';

export interface RowFault {
  readonly line: number;
  readonly errors: readonly FieldError[];
}

export interface ImportCounts {
  imported: number;
  /** Stored already, or in an earlier row. */
  updated: number;
  refused: number;
  leftOut: number;
}

/** Causes of which each is told once; --refused has all rows. */
const maxCauses = 20;
const maxShown = 10;

/** Rows, and the first ones of them as examples. */
interface Noted {
  count: number;
  readonly shown: string[];
}

export class ImportReport {
  readonly counts: ImportCounts = { imported: 0, updated: 0, refused: 0, leftOut: 0 };
  readonly #causes = new Map<string, Noted>();
  readonly #named = new Map<string, Noted>();
  readonly #facts = new Map<string, Noted>();

  /** @returns what to say of it at once: nothing where the same was said of an earlier row */
  refuse({ line, errors }: RowFault): string | undefined {
    this.counts.refused += 1;
    const text = errors
      .map(({ pointer, code, detail }) => `${pointer && `${pointer}: `}${detail} [${code}]`)
      .join('\n');
    // of numbers in it, such as a length, the first one stands for all
    const isNew = note(this.#causes, text.replaceAll(/\d+/g, '0'), String(line));
    return isNew && this.#causes.size <= maxCauses ? `line ${line}: ${text}` : undefined;
  }

  /** @param name of what is no row of subscriptions, or was to be left out */
  leaveOut(name: string, line: number): void {
    this.counts.leftOut += 1;
    note(this.#named, `${name}, left out`, String(line));
  }

  /** A row that is imported, and that people should know of. */
  remark(name: string, line: number): void {
    note(this.#named, name, String(line));
  }

  /** @param fact that is not understood, in the plural */
  leaveOutFact(fact: string, value: unknown): void {
    // a column of another meaning may hold anything
    const isShown =
      typeof value === 'string' && fact !== 'choices of channels' && /^[\p{L}\d/:., _+-]{1,20}$/u.test(value);
    note(this.#facts, fact, isShown ? value : undefined);
  }

  /** Facts that were left out, by what they are. */
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

/** @returns whether it is the first one */
function note(notes: Map<string, Noted>, key: string, example: string | undefined): boolean {
  const noted = notes.get(key) ?? { count: 0, shown: [] };
  notes.set(key, noted);
  noted.count += 1;
  if (example !== undefined && noted.shown.length <= maxShown) noted.shown.push(example);
  return noted.count === 1;
}

const list = (shown: readonly string[], count: number): string =>
  `${shown.slice(0, maxShown).join(', ')}${count > Math.min(shown.length, maxShown) ? ' …' : ''}`;
