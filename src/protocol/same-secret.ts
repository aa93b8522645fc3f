// Compares secrets in constant time.
import { timingSafeEqual } from 'node:crypto';

export function isSameSecret(one: string | Uint8Array, other: string | Uint8Array): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
