// A body as an opaque entity, which can be passed on but not read.

/** Only the holder of its opener can read the value. */
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

/** For code that may know only that there is a body. */
export const opaqueValue: SealedValue = Object.freeze(Object.create(null));
