// What a subscription is found by: 16 bytes of its endpoint.
import { hash } from 'node:crypto';
import { normalizeEndpoint } from '../../protocol/endpoint-policy.ts';

/** Of the normal spelling: one hash for all spellings. @returns 32 hexadecimal digits, which PostgreSQL reads as a UUID */
export function hashEndpoint(endpoint: string): string {
  return hash('sha256', normalizeEndpoint(endpoint), 'hex').slice(0, 32);
}
