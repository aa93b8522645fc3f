// An HPACK encoder for tests (RFC 7541), written to be compared with and not to be fast: it uses every representation,
// in whatever order a test asks for, and keeps the dynamic table as a plain list.
import { staticTable } from '../../src/transport/http2/hpack-encoder.ts';

type Entry = readonly [name: string, value: string];

/** How one field is to be written. */
export type FieldChoice =
  /** An entry of one of the tables; `pick` selects it. */
  | { readonly kind: 'indexed'; readonly pick: number }
  /** A literal; with `namePick` its name is that of an entry. */
  | {
      readonly kind: 'inserted' | 'not inserted' | 'never inserted';
      readonly namePick?: number;
      readonly name: string;
      readonly value: string;
    };

const patterns = { inserted: [0x40, 6], 'not inserted': [0x00, 4], 'never inserted': [0x10, 4] } as const;

export class ModelEncoder {
  /** The newest first. */
  #table: Entry[] = [];
  #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** A block with `:status: 200` and the fields, and what a reader should make of them. */
  block(choices: readonly FieldChoice[], tableBytes?: number): { bytes: Buffer; fields: Entry[] } {
    const bytes: number[] = [];
    if (tableBytes !== undefined) {
      this.#maxBytes = tableBytes;
      this.#evict();
      bytes.push(...integer(0x20, 5, tableBytes));
    }
    bytes.push(0x88);
    const fields = choices.map((choice) => this.#field(bytes, choice));
    return { bytes: Buffer.from(bytes), fields };
  }

  #field(bytes: number[], choice: FieldChoice): Entry {
    if (choice.kind === 'indexed') {
      const [index, entry] = this.#pick(choice.pick);
      bytes.push(...integer(0x80, 7, index));
      return entry;
    }
    const [pattern, prefixBits] = patterns[choice.kind];
    const [index, [name]] = choice.namePick === undefined ? [0, [choice.name]] : this.#pick(choice.namePick);
    bytes.push(...integer(pattern, prefixBits, index));
    if (index === 0) bytes.push(...string(name));
    bytes.push(...string(choice.value));
    const entry: Entry = [name, choice.value];
    if (choice.kind === 'inserted') {
      this.#table.unshift(entry);
      this.#evict();
    }
    return entry;
  }

  /** Pseudo-header fields and fields that HTTP/2 does not have are left out. */
  #pick(pick: number): [index: number, entry: Entry] {
    const entries = [...staticTable, ...this.#table];
    const legal = entries.flatMap((entry, at): [number, Entry][] =>
      entry[0].startsWith(':') || entry[0] === 'transfer-encoding' ? [] : [[at + 1, entry]],
    );
    // From the end, so that small picks select entries of the dynamic table.
    return legal[legal.length - 1 - (pick % legal.length)] as [number, Entry];
  }

  #evict(): void {
    const size = (): number =>
      this.#table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (size() > this.#maxBytes) this.#table.pop();
  }
}

/** RFC 7541 §5.1. */
function integer(pattern: number, prefixBits: number, value: number): number[] {
  const mask = 2 ** prefixBits - 1;
  if (value < mask) return [pattern | value];
  const bytes = [pattern | mask];
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

function string(text: string): number[] {
  return [...integer(0, 7, text.length), ...Buffer.from(text, 'latin1')];
}
