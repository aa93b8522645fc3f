// The beginning of an answer's body: the push service's reason as text. One buffer of fixed size holds it, so that a body
// in thousands of pieces takes no more memory than a whole one.

export const maxResponseBodyBytes = 4096;

/** Buffers of bodies that have been taken: allocating one costs more than reading a short body. */
const spareBuffers: Buffer[] = [];
const maxSpareBuffers = 16;

export class ResponseBody {
  #bytes: Buffer | undefined;
  #length = 0;

  /**
   * Copies a piece of the body.
   *
   * @returns false where the body is longer than what is kept: the rest need not be read
   */
  add(piece: Buffer, start = 0, end = piece.length): boolean {
    if (start === end) return true;
    this.#bytes ??= spareBuffers.pop() ?? Buffer.allocUnsafeSlow(maxResponseBodyBytes);
    const copied = piece.copy(this.#bytes, this.#length, start, end);
    this.#length += copied;
    return copied === end - start;
  }

  /** The text, as UTF-8; a character that is cut at the limit becomes U+FFFD. The body is empty afterwards. */
  take(): string {
    const bytes = this.#bytes;
    if (bytes === undefined) return '';
    const text = bytes.toString('utf8', 0, this.#length);
    if (spareBuffers.length < maxSpareBuffers) spareBuffers.push(bytes);
    this.#bytes = undefined;
    this.#length = 0;
    return text;
  }
}
