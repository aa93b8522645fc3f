// An answer's body as an opaque entity: whoever is handed one can pass it on, and cannot look into it.

/** Nothing can be read from it; only the holder of its opener can read what it contains. */
export type SealedValue = Readonly<Record<never, never>>;

export function createSealer<Value>() {
  const values = new WeakMap<SealedValue, Value>();
  return {
    seal(value: Value): SealedValue {
      const entity = Object.freeze(Object.create(null));
      values.set(entity, value);
      return entity;
    },
    /** @throws {TypeError} for an entity that this opener did not seal */
    open(entity: SealedValue): Value {
      if (!values.has(entity)) throw new TypeError('Not an entity that was handed out here.');
      return values.get(entity) as Value;
    },
  };
}

/** For whoever is only to know that there is a body. */
export const opaqueValue: SealedValue = Object.freeze(Object.create(null));
