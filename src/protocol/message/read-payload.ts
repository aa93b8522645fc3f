// The texts of a payload, for lists of what was sent.

/** @returns empty texts where the payload is not one of `encodePayload` */
export function readPayloadTexts(payload: Uint8Array): { readonly title: string; readonly message: string } {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(payload).toString());
  } catch {
    // a payload may be anything
  }
  const { title, message } = (value ?? {}) as { readonly title?: unknown; readonly message?: unknown };
  return { title: textOf(title), message: textOf(message) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
