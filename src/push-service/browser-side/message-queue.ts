// A queue of received messages; `for await` takes from it, and waits while it is empty.

type Reader<Item> = PromiseWithResolvers<IteratorResult<Item, undefined>>;

export class MessageQueue<Item> implements AsyncIterable<Item> {
  readonly #items: (Item | Error)[] = [];
  readonly #readers: Reader<Item>[] = [];
  readonly #onTaken: () => void;
  #isClosed = false;

  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The reader of an error throws it. */
  push(item: Item | Error): void {
    const reader = this.#readers.shift();
    if (reader === undefined) this.#items.push(item);
    else if (Error.isError(item)) reader.reject(item);
    else reader.resolve({ done: false, value: item });
  }

  /** Items that have arrived can still be read. */
  close(): void {
    this.#isClosed = true;
    for (const { resolve } of this.#readers.splice(0)) resolve({ done: true, value: undefined });
  }

  /** @throws {Error} nothing came within `timeoutMs`, or the error that came */
  async next(timeoutMs?: number): Promise<IteratorResult<Item, undefined>> {
    const item = this.#items.shift();
    if (item !== undefined) {
      this.#onTaken();
      if (Error.isError(item)) throw item;
      return { done: false, value: item };
    }
    if (this.#isClosed) return { done: true, value: undefined };
    const reader: Reader<Item> = Promise.withResolvers();
    this.#readers.push(reader);
    if (timeoutMs === undefined) return reader.promise;
    const timer = setTimeout(() => {
      this.#readers.splice(this.#readers.indexOf(reader), 1);
      reader.reject(new Error(`nothing came within ${timeoutMs} ms`));
    }, timeoutMs);
    return reader.promise.finally(() => clearTimeout(timer));
  }

  [Symbol.asyncIterator](): AsyncIterator<Item, undefined> {
    return { next: () => this.next() };
  }
}
