// Reads a request to a bell: the secret from any of its possible places, the body as text, and the body's fields.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { lookUp } from '../errors/check-options.ts';
import { isJsonObject, type JsonObject } from '../protocol/json-object.ts';
import type { MessageAction } from '../protocol/message/message.ts';
import type { Urgency } from '../protocol/request.ts';
import { bellSecretPattern } from '../store/bells.ts';

/** The error for a refused request to a bell. */
export class BellError extends Error {
  readonly status: number;
  /** The number that ntfy uses for this error. */
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A request before its body is read. */
export interface RequestHead {
  readonly method: string;
  /** The segments of the path after the mount path. */
  readonly path: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
}

export interface Posted extends RequestHead {
  readonly secret: string;
  readonly bytes: Buffer;
  readonly text: string;
  /** A JSON object or array, or the members of a form. */
  readonly value: object | undefined;
  readonly fields: JsonObject | undefined;
  /** The JSON that git hosts sign: the body, or the part of a form that contains it. */
  readonly json: Buffer;
}

/** What a notification shows. All values are untrusted. */
export interface Shown {
  readonly title?: string | undefined;
  readonly text: string;
  /** The address that a click opens, if it is an http(s) URL. */
  readonly url?: unknown;
  readonly urgency?: Urgency | undefined;
  /** Notifications from the same bell replace each other if they have the same key. */
  readonly key?: string | undefined;
  /** True if `key` is a sequence id of ntfy: a waiting notification with the same key is cancelled. */
  readonly isSequence?: boolean;
  /** The notification replaces the earlier one without an alert. */
  readonly isQuiet?: boolean;
  readonly isSilent?: boolean;
  readonly delayMs?: number | undefined;
  readonly actions?: readonly MessageAction[];
  /** What the request contained but the notification does not show. */
  readonly leftOut?: readonly string[];
  /** Members and types of JSON that was not understood. */
  readonly shape?: string;
}

/** The request was recognised but is not worth a notification. */
export interface Nothing {
  readonly whyNothing: string;
}

/** A member's text, or its number as text. Undefined if the member is absent, blank or of another type. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return (typeof value === 'string' && value.trim()) || undefined;
}

export const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
export const listOf = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

/** Removes control characters, except line breaks and tabs. */
export const clean = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '');

/** @returns `undefined` for a value that is nested too deeply */
export function toJson(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

const fromBase64 = (text: string): string => Buffer.from(text, 'base64url').toString();

/** Finds possible secrets in a request's head, in all the places where clients put them. */
export function secretsIn({ path: [first], headers, query }: RequestHead): readonly string[] {
  const given = fromBase64(query.get('auth') ?? query.get('authorization') ?? '');
  const authorizations = [headers.authorization ?? '', given].flatMap((authorization) => {
    const [, scheme = '', value = ''] = /^(\w+) +(\S+)$/.exec(authorization.trim()) ?? [];
    return scheme.toLowerCase() === 'basic' ? fromBase64(value).split(':') : value;
  });
  const tokens = [query.get('token'), headers['x-gotify-key'], headers['x-gitlab-token']];
  return [first, ...tokens, ...authorizations].filter(
    (text): text is string => typeof text === 'string' && bellSecretPattern.test(text),
  );
}

/** Finds ntfy's member `topic` in the first bytes of a body. */
export const topicsIn = (start: Buffer): readonly string[] =>
  Array.from(start.toString().matchAll(/"topic"\s*:\s*"([\w-]+)"/g), ([, topic]) => topic!)
    .filter((topic) => bellSecretPattern.test(topic))
    .slice(0, 1);

/** Limits on the size of a body, before and after the bell is found by its secret. */
export const maxBytes = { unknown: 4096, known: 1024 * 1024 };

const tooLarge = (most: number): BellError =>
  new BellError(413, 41303, `the body is larger than the ${most} bytes that are read`);

/**
 * Reads a body.
 *
 * @param find looks up the bell by the secret in the bytes received so far; called until it returns a bell
 * @throws {BellError} if the body cannot be decoded, or is larger than `maxBytes` allows
 */
export async function readBody<Found>(
  request: IncomingMessage,
  find: (start: Buffer) => Promise<Found | undefined>,
): Promise<{ readonly bytes: Buffer; readonly found: Found | undefined }> {
  let found = await find(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  let size = 0;
  // otherwise leaving the loop would close the connection before a response is sent
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes.unknown) found ??= await find(Buffer.concat(chunks).subarray(0, maxBytes.unknown));
    const most = found === undefined ? maxBytes.unknown : maxBytes.known;
    if (size > most) throw tooLarge(most);
  }
  const bytes = await decode(Buffer.concat(chunks), request.headers['content-encoding']);
  return { bytes, found: found ?? (await find(bytes.subarray(0, maxBytes.unknown))) };
}

const decoders = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

async function decode(bytes: Buffer, encoding = 'identity'): Promise<Buffer> {
  if (encoding === 'identity') return bytes;
  const decoder = lookUp(decoders, encoding.toLowerCase().replace(/^x-/, ''));
  if (decoder === undefined)
    throw new BellError(415, 41501, 'the Content-Encoding is none of gzip, deflate and br: leave it out');
  return decoder(bytes, { maxOutputLength: maxBytes.known }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ERR_BUFFER_TOO_LARGE'
      ? tooLarge(maxBytes.known)
      : new BellError(400, 40001, 'the body is not what its Content-Encoding says');
  });
}

const maxFields = 1000;
/** Form members that hold JSON, as git hosts, Slack and Uptime Kuma send them. */
const jsonMembers = ['payload', 'data'];
/** A form without any of these members is treated as text, because `curl -d` declares every body as a form. */
const formMembers = ['message', 'text', 'msg', 'body', 'description', 'summary', 'content'];

/** @returns `undefined` for text that is neither a JSON object nor an array */
export function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? (value ?? undefined) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a body as JSON, form or text. If the body is empty (Gitea, Uptime Kuma), the query is read. */
export async function readPosted(head: RequestHead, secret: string, bytes: Buffer): Promise<Posted> {
  const type = head.headers['content-type'] ?? '';
  const text = bytes.toString().trim();
  const isQuery = bytes.length === 0;
  const form = isQuery ? head.query : await readForm(bytes, text, type);
  const json = jsonMembers.flatMap((name) => form?.get(name) ?? []).find(parse) ?? text;
  const isForm = isQuery
    ? head.query.has('heartbeat')
    : /^multipart/i.test(type) || formMembers.some((name) => form?.get(name));
  const members = isForm && form ? [...form].map(([name, part]) => [name, parse(part) ?? part]) : undefined;
  const value = parse(json) ?? (members && (Object.fromEntries(members) as JsonObject));
  const fields = isJsonObject(value) ? value : undefined;
  return { ...head, secret, bytes, text, value, fields, json: Buffer.from(json) };
}

async function readForm(bytes: Buffer, text: string, type: string): Promise<URLSearchParams | undefined> {
  // limit the fields, because Node takes seconds to parse a MiB of empty fields
  if (/^application\/x-www-form-urlencoded/i.test(type))
    return new URLSearchParams(text.split('&', maxFields).join('&'));
  if (!/^multipart\/form-data/i.test(type)) return undefined;
  const response = new Response(new Uint8Array(bytes), { headers: { 'content-type': type } });
  const form = await response.formData().catch(() => []);
  return new URLSearchParams(
    [...form].slice(0, maxFields).map(([name, value]) => [name, typeof value === 'string' ? value : '']),
  );
}
