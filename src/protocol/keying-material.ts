// What RFC 8291 adds to RFC 8188: the keying material of a push message, from the ECDH secret and the
// subscription's authentication secret.
import { hkdfSync } from 'node:crypto';

import { pointBytes } from './p256.ts';

/** `WebPush: info` ‖ 0x00 ‖ ua_public(65) ‖ as_public(65) */
const label = Buffer.from('WebPush: info\0');

/**
 * Derives the input keying material of a push message.
 *
 * @param ecdhSecret 32 bytes
 * @param auth 16 bytes
 * @param userAgentPublicKey the subscription's p256dh, 65 bytes
 * @param applicationServerPublicKey the message's own key, 65 bytes
 * @returns 32 bytes
 * @see RFC 8291 §3.4
 */
export function deriveKeyingMaterial(
  ecdhSecret: Uint8Array,
  auth: Uint8Array,
  userAgentPublicKey: Uint8Array,
  applicationServerPublicKey: Uint8Array,
): Uint8Array {
  const info = Buffer.allocUnsafe(label.length + 2 * pointBytes);
  info.set(label);
  info.set(userAgentPublicKey, label.length);
  info.set(applicationServerPublicKey, label.length + pointBytes);
  return new Uint8Array(hkdfSync('sha256', ecdhSecret, auth, info, 32));
}
