// What is posted to a bell, read once: where secrets may be, the body as text, and its fields, whatever form they came in.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isJsonObject, type JsonObject, parseJsonObject } from '../protocol/json-object.ts';
import type { MessageAction } from '../protocol/message/message.ts';
import type { Urgency } from '../protocol/request.ts';
import { bellSecretPattern } from '../store/bells.ts';

/** A request before its body is read. */
export interface RequestHead {
  readonly method: string;
  /** Segments of the path after that at which bells are. */
  readonly path: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
}

export interface Posted extends RequestHead {
  readonly secret: string;
  readonly bytes: Buffer;
  readonly text: string;
  /** Set for a JSON object, a form, or a query that contains JSON. */
  readonly fields: JsonObject | undefined;
  /** The JSON that git hosts sign: the body, or what a form has of it. */
  readonly json: Buffer;
}

/** What is to be shown, as a stranger gave it. */
export interface Shown {
  readonly title?: string | undefined;
  readonly text: string;
  /** What a click opens, if it is an http(s) URL. */
  readonly url?: unknown;
  readonly urgency?: Urgency | undefined;
  /** Notifications of one bell with the same key replace each other. */
  readonly key?: string | undefined;
  /** The key is a sequence id of ntfy: one that waits is cancelled. */
  readonly isSequence?: boolean;
  /** It replaces without alerting anybody. */
  readonly isQuiet?: boolean;
  /** It makes no sound. */
  readonly isSilent?: boolean;
  readonly delayMs?: number | undefined;
  readonly actions?: readonly MessageAction[];
  /** What is not shown. */
  readonly leftOut?: readonly string[];
  /** Members and types of JSON that was not understood. */
  readonly shape?: string;
}

/** Recognised, and not worth a notification. */
export type Nothing = 'nothing';

/** Text of a member, a number too; undefined if it is absent, blank or of another type. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return (typeof value === 'string' && value.trim()) || undefined;
}

/** An object of which nothing is known; empty if it is none. */
export const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
export const listOf = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

const fromBase64 = (text: string): string => Buffer.from(text, 'base64url').toString();

/** The secrets in a request's head, wherever clients put them. */
export function secretsIn({ path: [first], headers, query }: RequestHead): readonly string[] {
  const given = fromBase64(query.get('auth') ?? query.get('authorization') ?? '');
  const authorizations = [headers.authorization ?? '', given].flatMap((authorization) => {
    const [, scheme = '', value = ''] = /^(\w+) +(\S+)$/.exec(authorization.trim()) ?? [];
    return scheme.toLowerCase() === 'basic' ? fromBase64(value).split(':') : value;
  });
  return [first, query.get('token'), ...authorizations, headers['x-gotify-key']].filter(
    (text): text is string => typeof text === 'string' && bellSecretPattern.test(text),
  );
}

/** The member `topic` of ntfy, in the beginning of a body. */
export const topicsIn = (start: Buffer): readonly string[] =>
  Array.from(start.toString().matchAll(/"topic"\s*:\s*"([\w-]+)"/g), ([, topic]) => topic!)
    .slice(0, 1)
    .filter((topic) => bellSecretPattern.test(topic));

/** Before the secret is right, and after. */
export const maxBytes = { unknown: 4096, known: 1024 * 1024 };

/**
 * Reads a body.
 *
 * @param find looks for the bell in what has come so far, if it is not known yet
 * @returns `undefined` for a body that is too large for what is known
 */
export async function readBody<Found>(
  request: IncomingMessage,
  find: (start: Buffer) => Promise<Found | undefined>,
): Promise<{ readonly bytes: Buffer; readonly found: Found | undefined } | undefined> {
  let found = await find(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  let size = 0;
  // otherwise leaving the loop would end the connection before there is an answer
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes.unknown) found ??= await find(Buffer.concat(chunks).subarray(0, maxBytes.unknown));
    if (size > (found === undefined ? maxBytes.unknown : maxBytes.known)) return undefined;
  }
  const bytes = Buffer.concat(chunks);
  return { bytes, found: found ?? (await find(bytes)) };
}

/** Members of forms that hold JSON: of GitHub and Slack, and of Uptime Kuma. */
const jsonMembers = ['payload', 'data'];
/** Without one of these, text that says it is a form is text: `curl -d` says so of everything. */
const formMembers = ['message', 'text', 'msg', 'body', 'description', 'summary', 'content'];

/** Reads the fields of a body. */
export async function readPosted(head: RequestHead, secret: string, bytes: Buffer): Promise<Posted> {
  const type = head.headers['content-type'] ?? '';
  const text = bytes.toString().trim();
  const form = await readForm(bytes, text, type);
  const inForm = jsonMembers.map((name) => form?.get(name)).find((value) => parseJsonObject(value ?? ''));
  const isForm = /^multipart/i.test(type) || formMembers.some((name) => form?.get(name));
  // Uptime Kuma's GET
  const members =
    form && isForm ? form : bytes.length === 0 && head.query.has('heartbeat') ? head.query : undefined;
  const json = inForm ?? text;
  const fields =
    parseJsonObject(json) ??
    (members &&
      Object.fromEntries([...members].map(([name, value]) => [name, parseJsonObject(value) ?? value])));
  return { ...head, secret, bytes, text, fields, json: Buffer.from(json) };
}

async function readForm(bytes: Buffer, text: string, type: string): Promise<URLSearchParams | undefined> {
  if (/^application\/x-www-form-urlencoded/i.test(type)) return new URLSearchParams(text);
  if (!/^multipart\/form-data/i.test(type)) return undefined;
  const response = new Response(new Uint8Array(bytes), { headers: { 'content-type': type } });
  const form = await response.formData().catch(() => []);
  return new URLSearchParams(
    [...form].map(([name, value]) => [name, typeof value === 'string' ? value : '']),
  );
}
