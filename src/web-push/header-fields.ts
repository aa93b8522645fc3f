// The header fields of a request, as the transport takes them.
import { checkHeaders } from '../transport/check-request.ts';
import type { PushHeaders } from '../transport/transport.ts';

const maxSharedHeaders = 256;

/**
 * Header fields as the transport takes them; of two that differ in case only, the last one counts, as in Node.
 *
 * @returns `undefined` where one is not for the transport: Node's client then sends it, or says what is wrong
 */
export function readFields(headers: Readonly<Record<string, unknown>>): PushHeaders | undefined {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    const field = name.toLowerCase();
    // The transport writes it.
    if (field !== 'content-length') fields[field] = String(value);
  }
  return checkHeaders(fields) === undefined ? fields : undefined;
}

/** Gives messages with equal header fields the same object: the transport encodes an object once. */
export function createHeaderSharing(): (fields: PushHeaders) => PushHeaders {
  const shared = new Map<string, PushHeaders>();
  return (fields) => {
    const key = JSON.stringify(fields);
    const found = shared.get(key);
    if (found !== undefined) return found;
    if (shared.size === maxSharedHeaders) shared.clear();
    shared.set(key, fields);
    return fields;
  };
}
