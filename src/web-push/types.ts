// The types of `@types/web-push`. As there, members are mutable: applications complete options step by step.
import type { Agent, AgentOptions } from 'node:https';
import type { Urgency } from '../protocol/request.ts';

export type { Urgency };

/** The result of `PushSubscription.toJSON()` in a browser. */
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

/** A pair and a contact for the push service. */
export interface VapidDetails {
  /** `mailto:` or `https:` URI. */
  subject: string;
  publicKey: string;
  privateKey: string;
}

/** How the body is encrypted. Today's browsers use `aes128gcm` (RFC 8291). */
export type ContentEncoding = 'aesgcm' | 'aes128gcm';
/** Header fields by name. */
export type Headers = Record<string, string>;

/**
 * A proxy, as in the package `https-proxy-agent`: `host` is required, and so is `port`, unless it is the protocol's
 * default.
 */
export type HttpsProxyAgentOptions = AgentOptions & {
  headers?: Headers | undefined;
  protocol?: string | undefined;
};

/** How messages travel: over Deskbell's transport, or with Node's `https.request`. */
export type TransportName = 'deskbell' | 'node';

/** Options of one message. */
export interface RequestOptions {
  headers?: Headers | undefined;
  gcmAPIKey?: string | undefined;
  /** Replaces those of `setVapidDetails`; `null` sends without. */
  vapidDetails?: VapidDetails | null | undefined;
  /** Milliseconds without progress after which the request fails; 0 or nothing for the transport's default. */
  timeout?: number | undefined;
  /** Seconds for which the push service keeps the message; four weeks by default. */
  TTL?: number | undefined;
  /** `aes128gcm` by default. */
  contentEncoding?: ContentEncoding | undefined;
  /** `normal` by default. */
  urgency?: Urgency | undefined;
  /** At most 32 characters of base64url. */
  topic?: string | undefined;
  /** A proxy's URL or description. Node's own client then sends the request over HTTP/1.1. */
  proxy?: string | HttpsProxyAgentOptions | undefined;
  /** Node's own client then sends the request over HTTP/1.1. */
  agent?: Agent | undefined;
  /**
   * `node` sends with Node's `https.request`, which tests can replace. Default: the environment variable
   * DESKBELL_WEB_PUSH_TRANSPORT, else `deskbell`.
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

/** A push service's answer when it accepted a message. */
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
