// Types of push messages and their recipients, shared by both sides of the local push service.
export type Urgency = 'very-low' | 'low' | 'normal' | 'high';

export interface PushMessage {
  readonly version: string;
  readonly body: Uint8Array;
  /** What the user agent needs for decryption; `undefined` for a push without payload. */
  readonly contentHeaders: ContentHeaders | undefined;
  readonly topic: string | undefined;
  readonly urgency: Urgency;
  readonly ttlSeconds: number;
  readonly expiresAtMs: number;
}

export interface ContentHeaders {
  readonly encoding: 'aes128gcm' | 'aesgcm';
  readonly encryption?: string;
  readonly crypto_key?: string;
}

/** The owner of an endpoint: a user agent's subscription, or a sink. */
export interface Recipient {
  /** The only key that may sign for this subscription (RFC 8292 §4), unpadded base64url. */
  readonly applicationServerKey: string | undefined;
  accept(message: PushMessage): 'accepted' | 'subscriptionFull' | 'serviceFull';
}

/** `gone`: the subscription has ended. `undefined`: it never existed. */
export type RecipientLookup = Recipient | 'gone' | undefined;
