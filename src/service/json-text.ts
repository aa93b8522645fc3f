// JSON answers as text: a string is answered as a JSON string, quotes included, and an int64 with every digit.
import type { FastifyReply } from 'fastify';

export const jsonContentType = 'application/json; charset=utf-8';

// In the runtime since Node 21; not in the compiler's library yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

export function toJsonText(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'bigint' ? rawJSON(String(member)) : member,
  );
}

export function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.header('content-type', jsonContentType).send(toJsonText(value));
}
