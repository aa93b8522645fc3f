// Encodes sets of ids as bytes. Each id, in ascending order, is stored as its distance from the previous id (the first
// from 0). A distance is a varint with 7 bits per byte, lowest bits first. A distance of 0, which no id has, begins a
// run: the next varint is the number of consecutive ids that follow. An id takes one or two bytes, and almost nothing
// in a run. Databases store sets but do not read them.

/** Shorter runs would not save bytes. */
const minRun = 3;

/**
 * @param ids positive safe integers, ascending, without duplicates
 * @throws {RangeError} if they are not
 */
export function encodeIds(ids: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  const addVarint = (value: number): void => {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
    bytes.push(rest);
  };
  const addRun = (length: number): void => {
    if (length >= minRun) for (const value of [0, length]) addVarint(value);
    else for (let left = length; left > 0; left -= 1) addVarint(1);
  };
  let last = 0;
  let run = 0;
  for (const id of ids) {
    if (!Number.isSafeInteger(id) || id <= last) throw new RangeError('Ids are positive and ascending.');
    if (id === last + 1) run += 1;
    else {
      addRun(run);
      run = 0;
      addVarint(id - last);
    }
    last = id;
  }
  addRun(run);
  return new Uint8Array(bytes);
}

/** @throws {RangeError} if the bytes are not a set of ids */
export function decodeIds(set: Uint8Array): readonly number[] {
  const ids: number[] = [];
  let last = 0;
  for (const { distance, count } of steps(set)) {
    for (let left = count; left > 0; left -= 1) ids.push((last += distance));
  }
  return ids;
}

/** @returns how many ids in the set are smaller; -1 if `id` is not in the set */
export function indexOfId(set: Uint8Array, id: number): number {
  let last = 0;
  let index = 0;
  for (const { distance, count } of steps(set)) {
    const end = last + distance * count;
    if (id <= end) return (id - last) % distance === 0 && id > last ? index + (id - last) / distance - 1 : -1;
    last = end;
    index += count;
  }
  return -1;
}

/** @returns the smallest id in the set above `id`; `undefined` if there is none */
export function nextIdOf(set: Uint8Array, id: number): number | undefined {
  let last = 0;
  for (const { distance, count } of steps(set)) {
    const end = last + distance * count;
    if (id < end) return id < last ? last + distance : id + (distance - ((id - last) % distance));
    last = end;
  }
  return undefined;
}

/** Consecutive ids of a set: `count` ids, each `distance` above the one before. */
interface Step {
  readonly distance: number;
  readonly count: number;
}

function* steps(set: Uint8Array): Generator<Step> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = set[at];
      if (byte === undefined) throw new RangeError('A set of ids ends in the middle of a number.');
      at += 1;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  };
  while (at < set.length) {
    const distance = varint();
    yield distance === 0 ? { distance: 1, count: varint() } : { distance, count: 1 };
  }
}
