// The header fields of a request, as the transport takes them.
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
    const field = name.toLowerCase();
    const isText = typeof value === 'string' || typeof value === 'number';
    if (!isText || !/^[!#$%&'*+.^`|~\w-]+$/.test(field) || !/^[\x20-\x7e]*$/.test(String(value))) {
      return undefined;
    }
    if (connectionFields.has(field)) return undefined;
    // The transport writes it.
    if (field !== 'content-length') fields[field] = String(value);
  }
  return fields;
}

/** Have a meaning in HTTP/1.1 only (RFC 9113 §8.2.2), or are the transport's to write. */
const connectionFields = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
  'expect',
  'trailer',
]);

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
