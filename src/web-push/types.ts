// The shapes of the npm package `web-push`, under the names of `@types/web-push`. Types only. As there, members can be
// assigned: applications complete options step by step.
import type { Agent, AgentOptions } from 'node:https';
import type { Urgency } from '../protocol/request.ts';

export type { Urgency };

/** What `PushSubscription.toJSON()` gives in a browser. */
export interface PushSubscription {
  endpoint: string;
  expirationTime?: null | number;
  keys: { p256dh: string; auth: string };
}

/** A P-256 pair, both halves in unpadded base64url. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

/** A pair, and whom the push service may write to. */
export interface VapidDetails {
  /** `mailto:` or `https:` URI. */
  subject: string;
  publicKey: string;
  privateKey: string;
}

/** How the body is encrypted. Browsers of today use `aes128gcm` (RFC 8291). */
export type ContentEncoding = 'aesgcm' | 'aes128gcm';
/** Header fields by name. */
export type Headers = Record<string, string>;

/** A proxy, as the package `https-proxy-agent` takes it: `host` is required, and `port` unless it is the protocol's own. */
export type HttpsProxyAgentOptions = AgentOptions & {
  headers?: Headers | undefined;
  protocol?: string | undefined;
};

/** How messages travel: over Deskbell's transport, or with Node's `https.request`. */
export type TransportName = 'deskbell' | 'node';

/** Options of one message. */
export interface RequestOptions {
  /** Further header fields of the request. */
  headers?: Headers | undefined;
  gcmAPIKey?: string | undefined;
  /** Instead of those of `setVapidDetails`; `null` sends without. */
  vapidDetails?: VapidDetails | null | undefined;
  /** Milliseconds without progress after which the request fails; 0 or nothing for the transport's own. */
  timeout?: number | undefined;
  /** Seconds for which the push service keeps the message; four weeks by default. */
  TTL?: number | undefined;
  /** `aes128gcm` by default. */
  contentEncoding?: ContentEncoding | undefined;
  /** `normal` by default. */
  urgency?: Urgency | undefined;
  /** At most 32 characters of base64url. */
  topic?: string | undefined;
  /** URL of a proxy, or its description. The request is then sent over HTTP/1.1 by Node's own client. */
  proxy?: string | HttpsProxyAgentOptions | undefined;
  /** The request is then sent over HTTP/1.1 by Node's own client. */
  agent?: Agent | undefined;
  /**
   * `node` sends with Node's `https.request`, which tests can replace. By default what the environment variable
   * DESKBELL_WEB_PUSH_TRANSPORT says, else `deskbell`.
   */
  transport?: TransportName | undefined;
}

/** The request of one message, as `generateRequestDetails` returns it. */
export interface RequestDetails {
  method: 'POST';
  /** As with the original, `TTL` and `Content-Length` are numbers, whatever the type says. */
  headers: Headers;
  body: Buffer | null;
  endpoint: string;
  proxy?: string | HttpsProxyAgentOptions | undefined;
  agent?: Agent | undefined;
  timeout?: number | undefined;
}

/** The answer of a push service that accepted a message. */
export interface SendResult {
  statusCode: number;
  body: string;
  headers: Headers;
}

/** What `encrypt` returns. */
export interface EncryptionResult {
  /** Of 65 bytes. `@types/web-push` calls it text, but it has always been a buffer. */
  localPublicKey: Buffer;
  /** base64url */
  salt: string;
  cipherText: Buffer;
}
