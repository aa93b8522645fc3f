// The types of `@types/web-push`. As there, members are mutable, because applications fill in options step by step.
import type { Agent, AgentOptions } from 'node:https';
import type { DeskbellError } from '../errors/deskbell-error.ts';
import type { Urgency } from '../protocol/request.ts';
import type { TransportResult } from '../transport/transport.ts';

export type { Urgency };

/** The result of `PushSubscription.toJSON()` in a browser. */
export interface PushSubscription {
  endpoint: string;
  expirationTime?: null | number;
  keys: { p256dh: string; auth: string };
}

/** A P-256 pair. Both keys are unpadded base64url. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

/** A key pair and a contact for the push service. */
export interface VapidDetails {
  /** `mailto:` or `https:` URI. */
  subject: string;
  publicKey: string;
  privateKey: string;
}

/** How the body is encrypted. Today's browsers use `aes128gcm` (RFC 8291). */
export type ContentEncoding = 'aesgcm' | 'aes128gcm';
export type Headers = Record<string, string>;

/** A proxy, as in the package `https-proxy-agent`. `host` is required, `port` only if it is not the default. */
export type HttpsProxyAgentOptions = AgentOptions & {
  headers?: Headers | undefined;
  protocol?: string | undefined;
};

/** How messages are sent: over Deskbell's transport, or with Node's `https.request`. */
export type TransportName = 'deskbell' | 'node';

/** Options of one message. */
export interface RequestOptions {
  headers?: Headers | undefined;
  gcmAPIKey?: string | undefined;
  /** Replaces the details of `setVapidDetails`; `null` sends without VAPID. */
  vapidDetails?: VapidDetails | null | undefined;
  /** The request fails after this many milliseconds without progress. 0 or absent: the transport's default. */
  timeout?: number | undefined;
  /** Seconds for which the push service keeps the message. Default: four weeks. */
  TTL?: number | undefined;
  /** Default: `aes128gcm`. */
  contentEncoding?: ContentEncoding | undefined;
  /** Default: `normal`. */
  urgency?: Urgency | undefined;
  /** At most 32 base64url characters. */
  topic?: string | undefined;
  /** The URL or options of a proxy. With a proxy, Node's own client sends the request over HTTP/1.1. */
  proxy?: string | HttpsProxyAgentOptions | undefined;
  /** With an agent, Node's own client sends the request over HTTP/1.1. */
  agent?: Agent | undefined;
  /**
   * `node` sends with Node's `https.request`, which tests can replace. Default: the value of the environment variable
   * DESKBELL_WEB_PUSH_TRANSPORT, otherwise `deskbell`.
   */
  transport?: TransportName | undefined;
}

/** The request for one message, as `generateRequestDetails` returns it. */
export interface RequestDetails {
  method: 'POST';
  /** As in `web-push`, `TTL` and `Content-Length` are numbers, although the type says otherwise. */
  headers: Headers;
  body: Buffer | null;
  endpoint: string;
  proxy?: string | HttpsProxyAgentOptions | undefined;
  agent?: Agent | undefined;
  timeout?: number | undefined;
}

/** A push service's response to an accepted message. */
export interface SendResult {
  statusCode: number;
  body: string;
  headers: Headers;
}

/** The result of `encrypt`. */
export interface EncryptionResult {
  /** 65 bytes. `@types/web-push` calls it a string, but it has always been a buffer. */
  localPublicKey: Buffer;
  /** base64url */
  salt: string;
  cipherText: Buffer;
}

/** The same error as in `web-push`, with the same texts, because applications compare them. */
export class WebPushError extends Error {
  override readonly name: string = 'WebPushError';
  /** An own property, so that JSON.stringify includes it. */
  override readonly message: string;
  readonly statusCode: number;
  readonly headers: Headers;
  readonly body: string;
  /** The whole endpoint, as in `web-push`. Do not log it: anyone who knows it can send to the browser. */
  readonly endpoint: string;

  constructor(message: string, statusCode: number, headers: Headers, body: string, endpoint: string) {
    super(message);
    this.message = message;
    this.statusCode = statusCode;
    this.headers = headers;
    this.body = body;
    this.endpoint = endpoint;
  }
}

export async function toResult(
  endpoint: string,
  statusCode: number,
  headers: SendResult['headers'],
  body: string,
): Promise<SendResult> {
  if (statusCode >= 200 && statusCode <= 299) return { statusCode, body, headers };
  throw new WebPushError('Received unexpected response code', statusCode, headers, body, endpoint);
}

/** @throws {Error} the errors of `toResult`, or an error with one of Node's codes if there is no response */
export async function readResult(endpoint: string, result: TransportResult): Promise<SendResult> {
  if (result.kind === 'response') {
    const { status, headers, body } = result.response;
    return toResult(endpoint, status, { ...headers }, body);
  }
  if (result.kind === 'failure') throw toNodeError(result.error);
  throw new Error(`The transport deferred a message: ${result.detail}`);
}

/** Converts to Node's errors, because applications read their `code`. */
export function toNodeError(error: DeskbellError): Error {
  if (error.code === 'ERR_TIMEOUT') return new Error('Socket timeout', { cause: error });
  if (Error.isError(error.cause)) return error.cause;
  if (error.code !== 'ERR_CONNECTION') return error;
  return Object.assign(new Error('socket hang up', { cause: error }), { code: 'ECONNRESET' });
}

export function ensure(isSo: unknown, message: string): asserts isSo {
  if (!isSo) throw new Error(message);
}
