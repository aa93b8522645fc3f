// JSON answers as text: a string is answered as a JSON string, quotes included, and an int64 with every digit. Characters
// that a terminal would obey are escaped.
import type { FastifyReply } from 'fastify';

import { escapeControls } from '../errors/escape-controls.ts';

export const jsonContentType = 'application/json; charset=utf-8';

// In the runtime since Node 21; not in the compiler's library yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** A JSON number with every digit, as a member of what is answered. */
export function exactNumber(integer: bigint): unknown {
  return rawJSON(String(integer));
}

export function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.header('content-type', jsonContentType).send(escapeControls(JSON.stringify(value)));
}
