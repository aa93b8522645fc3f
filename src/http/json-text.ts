// JSON answers with every digit of an int64, and with characters escaped that a terminal would obey.
import type { FastifyReply } from 'fastify';

import { escapeControls } from '../errors/untrusted-text.ts';

export const jsonContentType = 'application/json; charset=utf-8';

// In Node since 21, but not in TypeScript's library yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

export function exactNumber(integer: bigint): unknown {
  return rawJSON(String(integer));
}

export function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.header('content-type', jsonContentType).send(escapeControls(JSON.stringify(value)));
}
