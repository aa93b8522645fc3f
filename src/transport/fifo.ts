// A first-in-first-out queue on an array. `Array.shift` would move every element of a long queue.

export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes an item, which is slow if the queue is long. @returns false if the item is not in the queue */
  remove(item: T): boolean {
    const index = this.#items.indexOf(item, this.#head);
    if (index === -1) return false;
    this.#items.splice(index, 1);
    return true;
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    // clear the slot, because an array in V8's old generation would keep removed young objects alive
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head >= 1024) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
