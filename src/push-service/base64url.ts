/** Decodes base64url, unpadded or padded as Firefox sends its keys. Returns `undefined` for any other text. */
export function decodeBase64url(text: string): Buffer | undefined {
  const unpadded = text.replace(/={1,2}$/, '');
  const bytes = Buffer.from(unpadded, 'base64url');
  // Buffer.from skips unknown characters, so compare the result
  return bytes.toString('base64url') === unpadded ? bytes : undefined;
}
