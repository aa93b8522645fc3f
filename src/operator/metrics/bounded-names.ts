// Label values that strangers could multiply: where an operator has admitted a whole domain, anybody can subscribe with any
// number of its hosts.

const maxNames = 50;

export class BoundedNames {
  readonly #admitted = new Set<string>();

  /** The name itself for the first fifty that there are, `other` for all others. */
  admit(name: string): string {
    if (this.#admitted.has(name)) return name;
    if (this.#admitted.size >= maxNames) return 'other';
    this.#admitted.add(name);
    return name;
  }
}
