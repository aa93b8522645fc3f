// The shapes of the npm package `web-push`, as `@types/web-push` names them. Types only.
import type { Agent } from 'node:https';
import type { Urgency } from '../protocol/request.ts';

/** What `PushSubscription.toJSON()` gives in a browser. */
export interface PushSubscription {
  readonly endpoint: string;
  readonly expirationTime?: null | number | undefined;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** A P-256 pair, both halves in unpadded base64url. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

export interface VapidDetails {
  /** `mailto:` or `https:` URI. */
  readonly subject: string;
  readonly publicKey: string;
  readonly privateKey: string;
}

/** How the body is encrypted. Browsers of today use `aes128gcm` (RFC 8291). */
export type ContentEncoding = 'aesgcm' | 'aes128gcm';
/** Header fields by name. */
export type Headers = Record<string, string>;

/** The part of a proxy's description that is read here; the rest goes to the package `https-proxy-agent`. */
export interface ProxyOptions {
  readonly host: string;
  readonly port?: number | string | null | undefined;
  readonly protocol?: string | undefined;
}

/** Options of one message. */
export interface RequestOptions {
  /** Further header fields of the request. */
  readonly headers?: Headers | undefined;
  readonly gcmAPIKey?: string | undefined;
  /** Instead of those of `setVapidDetails`; `null` sends without. */
  readonly vapidDetails?: VapidDetails | null | undefined;
  /** Milliseconds without progress after which the request fails; 0 or nothing for the transport's own. */
  readonly timeout?: number | undefined;
  /** Seconds for which the push service keeps the message; four weeks by default. */
  readonly TTL?: number | undefined;
  /** `aes128gcm` by default. */
  readonly contentEncoding?: ContentEncoding | undefined;
  /** `normal` by default. */
  readonly urgency?: Urgency | undefined;
  /** At most 32 characters of base64url. */
  readonly topic?: string | undefined;
  /** URL of a proxy, or its description. The request is then sent over HTTP/1.1 by Node's own client. */
  readonly proxy?: string | ProxyOptions | undefined;
  /** The request is then sent over HTTP/1.1 by Node's own client. */
  readonly agent?: Agent | undefined;
}

/** The request of one message, as `generateRequestDetails` returns it. */
export interface RequestDetails {
  method: 'POST';
  headers: Record<string, string | number>;
  body: Buffer | null;
  endpoint: string;
  proxy?: string | ProxyOptions;
  agent?: Agent;
  timeout?: number;
}

/** The answer of a push service that accepted a message. */
export interface SendResult {
  statusCode: number;
  body: string;
  headers: Headers;
}

/** What `encrypt` returns. */
export interface EncryptionResult {
  localPublicKey: Buffer;
  /** base64url */
  salt: string;
  cipherText: Buffer;
}
