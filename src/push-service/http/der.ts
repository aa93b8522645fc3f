// Writes the part of DER (X.690) that a certificate needs.

export const Tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** Context-specific, constructed: `[0]` is `explicit + 0`. */
  explicit: 0xa0,
  /** Context-specific, primitive: `[0]` is `implicit + 0`. */
  implicit: 0x80,
} as const;

/** An element whose contents are the concatenated parts. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const contents = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), encodeLength(contents.length), contents]);
}

/** X.690 §8.1.3, §10.1: one byte up to 127, otherwise the number of length bytes and then those. */
function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.of(0x80 | bytes.length, ...bytes);
}

/** An OBJECT IDENTIFIER from its dotted form (X.690 §8.19). */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return der(Tag.objectIdentifier, Buffer.from([40 * first + second, ...others].flatMap(base128)));
}

/** A time in UTC, whole seconds (RFC 5280 §4.1.2.5). */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/\.\d+|[-:T]/g, '');
  const isShort = date.getUTCFullYear() < 2050;
  return der(isShort ? Tag.utcTime : Tag.generalizedTime, Buffer.from(isShort ? digits.slice(2) : digits));
}

/** Seven bits a byte, the highest bit set on all but the last. */
function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
