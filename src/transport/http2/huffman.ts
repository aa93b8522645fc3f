// Decodes HPACK's Huffman code (RFC 7541 appendix B). The code is canonical: the lengths of its codes alone define it.
// Encoding is left out: what we write is mostly random text, which the code does not make shorter.

/** Bits of the code of each symbol 0…255 and of EOS (256), one base-36 digit each. */
const codeLengths =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq' +
  'u';
const eos = 256;
const maxCodeBits = 30;
const shortCodeBits = 8;

/** Symbols in the order of their codes. */
const symbols = Uint16Array.from({ length: codeLengths.length }, (_, symbol) => symbol).sort(
  (a, b) => bitsOf(a) - bitsOf(b) || a - b,
);
/** By length: where its first code is in `symbols`, and the first code that is longer, as 30 bits. */
const firstIndex: number[] = [];
const firstCode: number[] = [];
const nextCode: number[] = [];
/** What 8 bits begin with, as `length << 8 | symbol`; 0 where the code is longer. */
const shortCodes = new Uint16Array(1 << shortCodeBits);

buildTables();

/** Where a text is put together; as long as the longest that a header block of ours can hold. */
let scratch = Buffer.allocUnsafeSlow(1024);

/**
 * @returns the text, one character per byte; `undefined` where the bytes are not such a code
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  // The shortest code has 5 bits.
  if ((end - start) * 8 > scratch.length * 5) scratch = Buffer.allocUnsafeSlow((end - start) * 2);
  let length = 0;
  const endBit = end * 8;
  for (let bit = start * 8; bit < endBit;) {
    const window = readBits(bytes, bit, end);
    const short = shortCodes[window >>> (maxCodeBits - shortCodeBits)] as number;
    const entry = short === 0 ? findLong(window) : short;
    const symbol = entry & 0x1ff;
    const nextBit = bit + (entry >> 9);
    if (nextBit > endBit) {
      // RFC 7541 §5.2: the last byte is filled with the beginning of EOS, ones; `readBits` continues with ones too.
      if (endBit - bit >= 8 || window !== 2 ** maxCodeBits - 1) return undefined;
      break;
    }
    if (symbol === eos) return undefined;
    scratch[length] = symbol;
    length += 1;
    bit = nextBit;
  }
  return scratch.toString('latin1', 0, length);
}

/** 30 bits from `bit` on; behind the end there are ones. */
function readBits(bytes: Uint8Array, bit: number, end: number): number {
  const at = bit >> 3;
  const shift = bit & 7;
  let window = 0;
  for (let index = at; index < at + 4; index += 1) {
    window = (window << 8) | (index < end ? (bytes[index] as number) : 0xff);
  }
  const fifth = at + 4 < end ? (bytes[at + 4] as number) : 0xff;
  return ((window << shift) | (fifth >> (8 - shift))) >>> 2;
}

function findLong(window: number): number {
  let length = shortCodeBits + 1;
  while (window >= (nextCode[length] as number)) length += 1;
  const index = (window - (firstCode[length] as number)) >>> (maxCodeBits - length);
  return (length << 9) | (symbols[(firstIndex[length] as number) + index] as number);
}

function bitsOf(symbol: number): number {
  return Number.parseInt(codeLengths.charAt(symbol), 36);
}

function buildTables(): void {
  let code = 0;
  let index = 0;
  for (let length = 1; length <= maxCodeBits; length += 1) {
    const step = 2 ** (maxCodeBits - length);
    firstCode[length] = code;
    firstIndex[length] = index;
    for (; index < symbols.length && bitsOf(symbols[index] as number) === length; index += 1) {
      if (length <= shortCodeBits) {
        const from = code >>> (maxCodeBits - shortCodeBits);
        shortCodes.fill(
          (length << 9) | (symbols[index] as number),
          from,
          from + 2 ** (shortCodeBits - length),
        );
      }
      code += step;
    }
    nextCode[length] = code;
  }
}
