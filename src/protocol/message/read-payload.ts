// The texts of a payload, for lists of what was sent.
import { parseJsonObject } from '../json-object.ts';

/** @returns empty texts where the payload is not one of `encodePayload` */
export function readPayloadTexts(payload: Uint8Array): { readonly title: string; readonly message: string } {
  const { title, message } = parseJsonObject(Buffer.from(payload).toString()) ?? {};
  return { title: textOf(title), message: textOf(message) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
