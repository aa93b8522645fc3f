// The text of endpoints: parts, normal spelling, and the hash by which they are found.
import { hash } from 'node:crypto';

/** An endpoint as a push request needs it. */
export interface EndpointParts {
  /** As `URL.origin` gives it. */
  readonly origin: string;
  /** Path and query, verbatim. */
  readonly path: string;
}

/** The parser's result for an endpoint, and what its text says. */
export interface ParsedEndpoint {
  readonly url: URL;
  /** Verbatim: the text between scheme and path. */
  readonly authority: string;
  /** Scheme and host are not case-sensitive, and the default port may be given (RFC 3986 §6.2.2.1, §6.2.3). */
  readonly hasNormalAuthority: boolean;
  /** The rest, verbatim. A `+` or `%2B` in it survives. */
  readonly path: string;
}

/** @returns `undefined` for text that is not an absolute URL of http or https */
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
 * One spelling for all that mean the same endpoint: scheme, host and port in normal form, path and query byte for byte. Text that is not an
 * endpoint is returned unchanged.
 *
 * @see RFC 3986 §6.2.2.1, §6.2.3
 */
export function normalizeEndpoint(endpoint: string): string {
  const parsed = parseEndpoint(endpoint);
  return parsed?.hasNormalAuthority === true ? parsed.url.origin + parsed.path : endpoint;
}

/** The same hash for all spellings. @returns 32 hexadecimal digits, which PostgreSQL reads as a UUID */
export function hashEndpoint(endpoint: string): string {
  return hash('sha256', normalizeEndpoint(endpoint), 'hex').slice(0, 32);
}
