// A push subscription: what a browser hands over so that it can be written to, and its strict parsing.
// Which push services are admitted is decided by an endpoint policy, handed in.

/** A parsed push subscription (Push API §8; RFC 8291 §2.1). */
export interface Subscription {
  /** Absolute URL of at most 4096 characters, used verbatim. A capability: never to be logged whole. */
  readonly endpoint: string;
  /** 65 bytes: uncompressed P-256 point. */
  readonly p256dh: Uint8Array;
  /** 16 bytes. */
  readonly auth: Uint8Array;
}
