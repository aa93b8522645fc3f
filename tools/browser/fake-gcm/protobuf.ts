// The few pieces of the Protocol Buffers wire format that Chromium's push transport needs: varints, fixed 64-bit
// numbers and length-delimited fields. No schemas: fields go by their numbers.

/** Values of each field number in their order: numbers as bigint, everything length-delimited as bytes. */
export type Fields = ReadonlyMap<number, readonly (bigint | Buffer)[]>;

export function encodeVarint(value: bigint | number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

/** @returns the value and the offset after it; undefined if the bytes end too early */
export function decodeVarint(
  bytes: Buffer,
  offset: number,
): { readonly value: bigint; readonly end: number } | undefined {
  let value = 0n;
  for (let index = offset; index < bytes.length; index++) {
    value |= BigInt(bytes[index]! & 0x7f) << BigInt(7 * (index - offset));
    if (bytes[index]! < 0x80) return { value, end: index + 1 };
  }
  return undefined;
}

export function varintField(field: number, value: bigint | number): Buffer {
  return Buffer.concat([encodeVarint(field << 3), encodeVarint(value)]);
}

export function fixed64Field(field: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return Buffer.concat([encodeVarint((field << 3) | 1), bytes]);
}

export function bytesField(field: number, value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([encodeVarint((field << 3) | 2), encodeVarint(bytes.length), bytes]);
}

export function decodeFields(bytes: Buffer): Fields {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let offset = 0;
  const varint = () => {
    const read = decodeVarint(bytes, offset);
    if (!read) throw new Error(`The message ends within the varint at offset ${offset}.`);
    offset = read.end;
    return read.value;
  };
  const slice = (length: number) => bytes.subarray(offset, (offset += length));
  while (offset < bytes.length) {
    const key = Number(varint());
    const values = fields.get(key >> 3) ?? [];
    fields.set(key >> 3, values);
    switch (key & 7) {
      case 0:
        values.push(varint());
        break;
      case 1:
        values.push(slice(8).readBigUInt64LE());
        break;
      case 2:
        values.push(slice(Number(varint())));
        break;
      case 5:
        values.push(BigInt(slice(4).readUInt32LE()));
        break;
      default:
        throw new Error(`Wire type ${key & 7} at offset ${offset} is not supported.`);
    }
  }
  return fields;
}

export function textsOf(fields: Fields, field: number): readonly string[] {
  return (fields.get(field) ?? []).map(String);
}
