// Values in the forms in which databases and languages write them: their own JSON around a value, and bytes.
import { decodeBase64 } from '../../protocol/base64.ts';
import { isJsonObject } from '../../protocol/json-object.ts';

const itself = (inner: unknown): unknown => inner;
const ifText = (inner: unknown): unknown => (typeof inner === 'string' ? inner : undefined);
const ifObject = (inner: unknown): unknown => (isJsonObject(inner) ? inner : undefined);
const ifArray = (inner: unknown): unknown => (Array.isArray(inner) ? inner : undefined);

/** An object with one of these members alone is what the member holds; not if that is `undefined`. */
const wrappers: Readonly<Record<string, (inner: unknown) => unknown>> = {
  // MongoDB Extended JSON
  $oid: itself,
  $date: itself,
  $numberLong: itself,
  $numberInt: itself,
  $numberDouble: itself,
  $binary: (inner) => (isJsonObject(inner) ? inner['base64'] : inner),
  // DynamoDB
  S: ifText,
  N: ifText,
  B: ifText,
  M: ifObject,
  L: ifArray,
  SS: ifArray,
  BOOL: itself,
  NULL: () => null,
  // Firestore, over REST and from its clients
  stringValue: ifText,
  integerValue: itself,
  doubleValue: itself,
  booleanValue: itself,
  timestampValue: ifText,
  bytesValue: ifText,
  nullValue: () => null,
  mapValue: (inner) => (isJsonObject(inner) ? (inner['fields'] ?? {}) : undefined),
  arrayValue: (inner) => (isJsonObject(inner) ? (inner['values'] ?? []) : undefined),
  _seconds: itself,
};

/** What may stand beside the member. */
const companions: ReadonlySet<string> = new Set(['$type', '_nanoseconds']);

export function unwrap(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value);
  if (names.length > 2) return value;
  const [name, ...others] = names.filter((each) => !companions.has(each));
  if (name === undefined || others.length > 0 || !Object.hasOwn(wrappers, name)) return value;
  const inner = wrappers[name]!(value[name]);
  return inner === undefined ? value : unwrap(inner);
}

/** The same, and what a text holds that is JSON of an object or an array. */
export function open(value: unknown): unknown {
  const inner = unwrap(value);
  if (typeof inner !== 'string' || !/^\s*[[{]/.test(inner)) return inner;
  try {
    return unwrap(JSON.parse(inner));
  } catch {
    return inner;
  }
}

/**
 * Bytes as programs write them: base64 in either alphabet, also with line breaks, or with spaces where a form has made them of
 * "+"; hexadecimal digits, as databases show a column of bytes; an array of numbers, an object of them by index, or Node's
 * `{"type": "Buffer", "data": […]}`.
 *
 * @param length how many bytes there are to be
 * @returns `undefined` for what is none of these, or not of this length
 */
export function readBytes(given: unknown, length: number): Uint8Array | undefined {
  const value = open(given);
  if (typeof value === 'string') {
    const texts = [
      value,
      value.replaceAll(/\s/g, ''),
      value.replaceAll(/[\r\n\t]/g, '').replaceAll(' ', '+'),
    ];
    const found = texts.map((text) => decodeBase64(text)).find((bytes) => bytes?.length === length);
    const [, digits] = /^(?:\\x|0x)?((?:[\da-f]{2})+)$/i.exec(value.trim()) ?? [];
    return found ?? (digits?.length === 2 * length ? Buffer.from(digits, 'hex') : undefined);
  }
  const listed = isJsonObject(value) && value['type'] === 'Buffer' ? value['data'] : value;
  const numbers = isJsonObject(listed) ? toArray(listed) : listed;
  if (!Array.isArray(numbers) || numbers.length !== length) return undefined;
  return numbers.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
    ? Uint8Array.from(numbers as readonly number[])
    : undefined;
}

/** `{"0": 4, "1": 17}`, in whatever order */
const toArray = (byIndex: object): readonly unknown[] =>
  Array.from(Object.keys(byIndex), (_name, index) => (byIndex as Record<number, unknown>)[index]);
