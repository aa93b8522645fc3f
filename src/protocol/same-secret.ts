// Compares secrets of strangers with ours.
import { timingSafeEqual } from 'node:crypto';

/** Takes as long whichever byte differs. */
export function isSameSecret(one: string | Uint8Array, other: string | Uint8Array): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
