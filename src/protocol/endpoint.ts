// Parses and normalizes endpoints, and hashes them for lookups.
import { hash } from 'node:crypto';

/** The two parts of an endpoint that a push request needs. */
export interface EndpointParts {
  /** As `URL.origin` returns it. */
  readonly origin: string;
  /** Path and query, verbatim. */
  readonly path: string;
}

/** An endpoint as the URL parser reads it, with parts of its original text. */
export interface ParsedEndpoint {
  readonly url: URL;
  /** The text between scheme and path, verbatim. */
  readonly authority: string;
  /**
   * True if scheme, host and port already have their normal form. Scheme and host are not case-sensitive, and the
   * default port is optional (RFC 3986 §6.2.2.1, §6.2.3).
   */
  readonly hasNormalAuthority: boolean;
  /** The rest of the text, verbatim, so that `+` and `%2B` stay different. */
  readonly path: string;
}

/** @returns `undefined` if the text is not an absolute http or https URL */
export function parseEndpoint(endpoint: string): ParsedEndpoint | undefined {
  const [, authority, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(endpoint) ?? [];
  const url = URL.parse(endpoint);
  if (authority === undefined || url === null) return undefined;
  const defaultPort = url.protocol === 'https:' ? ':443' : ':80';
  const hasNormalAuthority = [url.host, url.host + defaultPort].includes(authority.toLowerCase());
  return { url, authority, hasNormalAuthority, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/**
 * Splits an endpoint into its origin and its path. A policy must have allowed the endpoint.
 *
 * @throws {TypeError} if it is not an absolute http or https URL
 */
export function splitEndpoint(endpoint: string): EndpointParts {
  const parsed = parseEndpoint(endpoint);
  if (parsed === undefined) throw new TypeError('The endpoint is not an absolute URL.');
  return { origin: parsed.url.origin, path: parsed.path };
}

/**
 * Normalizes scheme, host and port; path and query stay unchanged. All spellings of an endpoint give the same
 * result. Text that is not an endpoint is returned unchanged.
 *
 * @see RFC 3986 §6.2.2.1, §6.2.3
 */
export function normalizeEndpoint(endpoint: string): string {
  const parsed = parseEndpoint(endpoint);
  return parsed?.hasNormalAuthority === true ? parsed.url.origin + parsed.path : endpoint;
}

/** Hashes the normalized endpoint. @returns 32 hexadecimal digits, which PostgreSQL reads as a UUID */
export function hashEndpoint(endpoint: string): string {
  return hash('sha256', normalizeEndpoint(endpoint), 'hex').slice(0, 32);
}
