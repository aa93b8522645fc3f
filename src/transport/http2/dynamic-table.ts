// HPACK's dynamic table as the reader of header blocks keeps it (RFC 7541 §2.3.2, §4): the newest fields, as many as
// the table's size holds.

/** RFC 7541 §4.1: what an entry counts for beside its name and value. */
export const entryOverheadBytes = 32;

interface Entry {
  readonly name: string;
  readonly value: string;
}

/** @typeParam Kept one character per byte in `name` and `value` */
export class DynamicTable<Kept extends Entry> {
  readonly #capacity: number;
  /** A ring; the newest is at `#next - 1`. */
  readonly #ring: (Kept | undefined)[];
  #next = 0;
  #count = 0;
  #bytes = 0;
  #maxBytes: number;

  /** @param maxBytes the largest size that `resize` may set, and the first one */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#capacity = Math.ceil(maxBytes / entryOverheadBytes) + 1;
    this.#ring = Array.from({ length: this.#capacity }, () => undefined);
  }

  /** @param age 0 for the newest */
  get(age: number): Kept | undefined {
    if (age >= this.#count) return undefined;
    return this.#ring[(this.#next - 1 - age + this.#capacity) % this.#capacity];
  }

  /** RFC 7541 §4.4: the oldest fields make room; a field larger than the table empties it and is not kept. */
  insert(field: Kept): void {
    const bytes = sizeOf(field);
    this.#evict(this.#maxBytes - bytes);
    if (bytes > this.#maxBytes) return;
    this.#ring[this.#next] = field;
    this.#next = (this.#next + 1) % this.#capacity;
    this.#count += 1;
    this.#bytes += bytes;
  }

  /** RFC 7541 §4.3. */
  resize(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#evict(maxBytes);
  }

  #evict(untilBytes: number): void {
    while (this.#count > 0 && this.#bytes > untilBytes) {
      const oldest = (this.#next - this.#count + this.#capacity) % this.#capacity;
      this.#bytes -= sizeOf(this.#ring[oldest] as Kept);
      this.#ring[oldest] = undefined;
      this.#count -= 1;
    }
  }
}

function sizeOf({ name, value }: Entry): number {
  return name.length + value.length + entryOverheadBytes;
}
