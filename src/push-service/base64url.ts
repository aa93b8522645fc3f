// base64url as keys, tokens and signatures come in: unpadded, or padded as Firefox sends its keys.

/** `undefined` where the text is not base64url. */
export function decodeBase64url(text: string): Buffer | undefined {
  const unpadded = text.replace(/={1,2}$/, '');
  const bytes = Buffer.from(unpadded, 'base64url');
  // Buffer.from skips what it does not know: only a text that comes out the same again was base64url
  return bytes.toString('base64url') === unpadded ? bytes : undefined;
}
