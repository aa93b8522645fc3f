import { checkHeaders } from '../transport/check-request.ts';
import type { PushHeaders } from '../transport/transport.ts';

const maxSharedHeaders = 256;

/**
 * Converts header fields for the transport. If two differ only in case, the last one counts, as in Node.
 *
 * @returns `undefined` if the transport cannot send one of them: then Node's client sends it or reports the error
 */
export function readFields(headers: Readonly<Record<string, unknown>>): PushHeaders | undefined {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    const field = name.toLowerCase();
    if (field !== 'content-length') fields[field] = String(value);
  }
  return checkHeaders(fields) === undefined ? fields : undefined;
}

/** Returns the same object for equal header fields: the transport encodes an object once. */
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
