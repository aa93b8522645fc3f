// The text of endpoints: its parts, its one spelling, and the hash by which it is found.
import { hash } from 'node:crypto';

/** An endpoint as a push request needs it. */
export interface EndpointParts {
  /** As `URL.origin` gives it. */
  readonly origin: string;
  /** Path and query, verbatim. */
  readonly path: string;
}

/** What the parser has made of an endpoint, beside what its text says. */
export interface ParsedEndpoint {
  readonly url: URL;
  /** Verbatim: what stands between the scheme and the path. */
  readonly authority: string;
  /** Scheme and host are not case-sensitive, and the default port may be given (RFC 3986 §6.2.2.1, §6.2.3). */
  readonly hasNormalAuthority: boolean;
  /** All that follows, verbatim. A `+` or `%2B` in it survives. */
  readonly path: string;
}

/** @returns `undefined` for text that is no absolute URL of http or https */
export function parseEndpoint(endpoint: string): ParsedEndpoint | undefined {
  const [, authority, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(endpoint) ?? [];
  const url = URL.parse(endpoint);
  if (authority === undefined || url === null) return undefined;
  const defaultPort = url.protocol === 'https:' ? ':443' : ':80';
  const hasNormalAuthority = [url.host, url.host + defaultPort].includes(authority.toLowerCase());
  return { url, authority, hasNormalAuthority, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/**
 * Splits an endpoint that a policy has admitted.
 *
 * @throws {TypeError} not an absolute URL of http or https
 */
export function splitEndpoint(endpoint: string): EndpointParts {
  const parsed = parseEndpoint(endpoint);
  if (parsed === undefined) throw new TypeError('The endpoint is not an absolute URL.');
  return { origin: parsed.url.origin, path: parsed.path };
}

/**
 * One spelling for all that mean the same endpoint: scheme, host and port in their normal form, path and query byte for
 * byte. Text that is no endpoint stays as it is.
 *
 * @see RFC 3986 §6.2.2.1, §6.2.3
 */
export function normalizeEndpoint(endpoint: string): string {
  const parsed = parseEndpoint(endpoint);
  return parsed?.hasNormalAuthority === true ? parsed.url.origin + parsed.path : endpoint;
}

/** Of the normal spelling: one hash for all spellings. @returns 32 hexadecimal digits, which PostgreSQL reads as a UUID */
export function hashEndpoint(endpoint: string): string {
  return hash('sha256', normalizeEndpoint(endpoint), 'hex').slice(0, 32);
}
