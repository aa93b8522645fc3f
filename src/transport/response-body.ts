// The beginning of an answer's body. RFC 8030 needs none of it; it is the push service's reason in words. One buffer
// of fixed size holds it, so that a body that comes in thousands of pieces costs no more than one that comes whole.

export const maxResponseBodyBytes = 4096;

export class ResponseBody {
  #bytes: Buffer | undefined;
  #length = 0;

  /**
   * Copies a piece of the body.
   *
   * @returns false where there is more than anybody needs: the rest need not be read
   */
  add(piece: Buffer, start = 0, end = piece.length): boolean {
    if (start === end) return true;
    this.#bytes ??= Buffer.allocUnsafeSlow(maxResponseBodyBytes);
    const copied = piece.copy(this.#bytes, this.#length, start, end);
    this.#length += copied;
    return copied === end - start;
  }

  /** As UTF-8; a character that is cut at the limit becomes U+FFFD. */
  text(): string {
    return this.#bytes === undefined ? '' : this.#bytes.toString('utf8', 0, this.#length);
  }
}
