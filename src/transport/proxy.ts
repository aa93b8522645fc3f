// The HTTP proxy for connections, and its settings. SOCKS, proxy configuration files and proxy authentication other
// than Basic are not supported.
import { isIP, type Socket } from 'node:net';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { decodePercent } from '../errors/untrusted-text.ts';
import { connectionError } from './connection-errors.ts';

export interface Proxy {
  readonly hostname: string;
  readonly port: number;
  /** True if the connection to the proxy uses TLS. */
  readonly isSecure: boolean;
  /** Value of the `proxy-authorization` field. */
  readonly authorization: string | undefined;
}

/**
 * @throws {DeskbellError} ERR_CONFIGURATION if it is not an http or https URL, or the credentials contain a stray "%"
 */
export function parseProxy(proxyUrl: string): Proxy {
  const url = URL.parse(proxyUrl);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    // do not repeat the text, which may contain a password
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'The proxy is not an http or https URL. Give it as http://[user:password@]host:port.',
    );
  }
  const isSecure = url.protocol === 'https:';
  const credentials = decodePercent(`${url.username}:${url.password}`);
  if (credentials === undefined) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'The user or password of the proxy has a "%" that is not part of an escape. Write it as %25.',
    );
  }
  return {
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port) || (isSecure ? 443 : 80),
    isSecure,
    authorization: credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/**
 * Reads the proxy from the environment like curl: lower case takes precedence over upper case, and a proxy without a
 * scheme is an http one. `http_proxy` is ignored, because push services use https.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, naming the variable that is not an http or https URL
 */
export function proxyFromEnvironment(environment: Readonly<Record<string, string | undefined>>): {
  proxy: string | undefined;
  noProxy: string[] | undefined;
} {
  const find = (...names: readonly string[]): string | undefined =>
    names.flatMap((name) => [name, name.toUpperCase()]).find((name) => environment[name]);
  const [variable, listVariable] = [find('https_proxy', 'all_proxy'), find('no_proxy')];
  const noProxy = listVariable && environment[listVariable]?.split(/[\s,]+/).filter((entry) => entry !== '');
  return {
    proxy: variable === undefined ? undefined : readProxyVariable(variable, environment[variable] ?? ''),
    noProxy: noProxy || undefined,
  };
}

function readProxyVariable(variable: string, value: string): string {
  const proxyUrl = value.includes('://') ? value : `http://${value}`;
  try {
    parseProxy(proxyUrl);
  } catch (cause) {
    throw new DeskbellError('ERR_CONFIGURATION', `${variable}: ${(cause as Error).message}`, { cause });
  }
  return proxyUrl;
}

// Opens a CONNECT tunnel (RFC 9110 §9.3.6) through an HTTP proxy, both for https and for http origins.

const maxHeadBytes = 16_384;

/**
 * Asks the proxy at the other end of `socket` for a tunnel. After that, the socket is connected to `authority`.
 *
 * @param authority host and port, as in `push.example.org:443`
 * @throws {DeskbellError} ERR_CONNECTION with the proxy's status if it refuses
 */
export async function openTunnel(socket: Socket, authority: string, proxy: Proxy): Promise<void> {
  const credentials =
    proxy.authorization === undefined ? '' : `proxy-authorization: ${proxy.authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credentials}\r\n`);
  const head = await readHead(socket);
  const status = /^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(head)?.[1];
  if (status?.startsWith('2')) return;
  const answer = status === undefined ? 'something that is not HTTP' : `status ${status}`;
  throw new DeskbellError('ERR_CONNECTION', `The proxy answered CONNECT ${authority} with ${answer}.`);
}

/**
 * Reads the proxy's response up to the empty line. Data after that line is a fault, because push services send nothing
 * before the client does.
 */
async function readHead(socket: Socket): Promise<string> {
  let head = '';
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      head += (chunk as Buffer).toString('latin1');
      if (head.includes('\r\n\r\n') || head.length > maxHeadBytes) break;
    }
  } catch (cause) {
    throw connectionError('The proxy', 'lost the connection before it answered CONNECT', cause as Error);
  }
  const end = head.indexOf('\r\n\r\n');
  if (end !== -1 && end + 4 === head.length) return head;
  if (end !== -1) throw connectionError('The proxy', 'sent more than an answer to CONNECT');
  const isTooLong = head.length > maxHeadBytes;
  const fault = isTooLong
    ? `sent more than ${maxHeadBytes} bytes of header`
    : 'closed the connection before it answered CONNECT';
  throw connectionError('The proxy', fault);
}

/**
 * True if a host is reached without the proxy. This is the case for loopback (a proxy's loopback is not ours) and for
 * the entries of `noProxy`: a host, a domain with all its hosts (with or without a leading dot), or `*`.
 *
 * @param hostname as `URL.hostname` returns it
 */
export function isProxyBypassed(hostname: string, noProxy: readonly string[] = []): boolean {
  if (isLoopbackName(hostname)) return true;
  return noProxy.some((entry) => {
    const domain = entry.toLowerCase().replace(/^\*?\.(?=.)/, '');
    return domain === '*' || hostname === domain || (isIP(hostname) === 0 && hostname.endsWith(`.${domain}`));
  });
}

/** True for names of this machine (RFC 6761 §6.3) and its loopback addresses. */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:.*\.)?localhost\.?$|^127\.\d+\.\d+\.\d+$|^\[::1\]$/.test(hostname);
}
