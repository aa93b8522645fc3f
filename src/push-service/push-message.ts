// A push message in the push service, and its recipient.

export type Urgency = 'very-low' | 'low' | 'normal' | 'high';

export interface PushMessage {
  /** Name of the message resource and `version` towards the user agent: unique and not to be guessed. */
  readonly version: string;
  /** Encrypted body as the sender gave it; empty for a push without payload. */
  readonly body: Uint8Array;
  /** What the user agent needs to decrypt; `undefined` for a push without payload. */
  readonly contentHeaders: ContentHeaders | undefined;
  readonly topic: string | undefined;
  readonly urgency: Urgency;
  readonly ttlSeconds: number;
  readonly expiresAtMs: number;
}

/** As they are in the `headers` member of an autopush `notification`. */
export interface ContentHeaders {
  readonly encoding: 'aes128gcm' | 'aesgcm';
  readonly encryption?: string;
  readonly crypto_key?: string;
}

/** What an endpoint addresses: a user agent's subscription, or a sink. */
export interface Recipient {
  /** The only key that may sign for this subscription (RFC 8292 §4), unpadded base64url. */
  readonly applicationServerKey: string | undefined;
  accept(message: PushMessage): 'accepted' | 'subscriptionFull' | 'serviceFull';
}

/** `gone`: there was such a subscription. `undefined`: there never was. */
export type RecipientLookup = Recipient | 'gone' | undefined;
