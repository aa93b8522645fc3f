// Header fields: the host of a request (RFC 9112 §3.2; `:authority` in RFC 9113 §8.3.1), and parameters of others.
import type { IncomingHttpHeaders } from 'node:http';

const hostAndPort = /^(?:[\w.~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

interface HostedRequest {
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}

/** @returns what is wrong with the host, or `undefined` */
export function findHostFault(request: HostedRequest): string | undefined {
  const host = hostOf(request);
  if (host === undefined) return request.httpVersion === '1.0' ? undefined : 'the request has no Host header';
  if (!hostAndPort.test(host)) return 'the Host header is not a host with an optional port';
  const count = countHostHeaders(request.rawHeaders);
  return count > 1 ? `the request has ${count} Host headers; exactly one is allowed` : undefined;
}

function countHostHeaders(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

export function hostOf({ headers }: Pick<HostedRequest, 'headers'>): string | undefined {
  return (headers[':authority'] as string | undefined) ?? headers.host;
}

/** True for this machine's names and addresses, with any port. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(host);
}

/** Reads `name=value; name="value"` of `Authorization`, `Crypto-Key` and `Encryption`; names become lower case. */
export function readParameters(text: string, separator: string | RegExp): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of text.split(separator)) {
    const [, name, quoted, bare] = /^\s*([^\s=]+)\s*=\s*(?:"([^"]*)"|(\S+))\s*$/.exec(part) ?? [];
    if (name !== undefined) parameters.set(name.toLowerCase(), quoted ?? bare ?? '');
  }
  return parameters;
}
