// The way out through an HTTP proxy: a CONNECT tunnel (RFC 9110 §9.3.6) for https and http origins alike. SOCKS,
// proxy configuration files and proxy authentication other than Basic are left out.
import { isIP, type Socket } from 'node:net';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { isLoopbackName } from './address-guard.ts';

export interface Proxy {
  readonly hostname: string;
  readonly port: number;
  /** The connection to the proxy itself is TLS. */
  readonly isSecure: boolean;
  /** Value of the `proxy-authorization` field. */
  readonly authorization?: string;
}

const maxHeadBytes = 16_384;

/** @throws {DeskbellError} ERR_CONFIGURATION for anything but an http or https URL */
export function parseProxy(proxyUrl: string): Proxy {
  const url = URL.parse(proxyUrl);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    // The text itself may hold a password: it is not repeated.
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'The proxy is not an http or https URL. Give it as http://[user:password@]host:port.',
    );
  }
  const isSecure = url.protocol === 'https:';
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port) || (isSecure ? 443 : 80),
    isSecure,
    ...(credentials !== ':' && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
  };
}

/** The proxy that the environment names, as curl and others read it; lower case goes before upper case. */
export function proxyFromEnvironment(environment: Readonly<Record<string, string | undefined>>): {
  proxy?: string;
  noProxy?: string[];
} {
  const read = (name: string): string | undefined => environment[name] || environment[name.toUpperCase()];
  const proxy = read('https_proxy') ?? read('all_proxy');
  const noProxy = read('no_proxy')
    ?.split(/[\s,]+/)
    .filter((entry) => entry !== '');
  return { ...(proxy !== undefined && { proxy }), ...(noProxy !== undefined && { noProxy }) };
}

/**
 * True for a host that is reached without the proxy: loopback always (a proxy's loopback is not ours), and what
 * `noProxy` names: a host, a domain with all hosts under it (with or without a leading dot), or `*`.
 *
 * @param hostname as `URL.hostname` gives it
 */
export function isProxyBypassed(hostname: string, noProxy: readonly string[] = []): boolean {
  if (isLoopbackName(hostname)) return true;
  return noProxy.some((entry) => {
    const domain = entry.toLowerCase().replace(/^\*?\.(?=.)/, '');
    return domain === '*' || hostname === domain || (isIP(hostname) === 0 && hostname.endsWith(`.${domain}`));
  });
}

/**
 * Asks the proxy at the other end of `socket` for a tunnel. When it resolves, the socket speaks with `authority`.
 *
 * @param authority host and port, as in `push.example.org:443`
 * @throws {DeskbellError} ERR_CONNECTION with the proxy's status where it refuses
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

/** Everything up to the empty line. What is behind a tunnel speaks only when spoken to, so nothing may follow. */
function readHead(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = '';
    const stop = (error?: Error): void => {
      socket.off('readable', read).off('error', stop).off('close', closed);
      if (error === undefined) resolve(head);
      else reject(error);
    };
    const fail = (what: string): void => stop(new DeskbellError('ERR_CONNECTION', `The proxy ${what}.`));
    const closed = (): void => fail('closed the connection before it answered CONNECT');
    const read = (): void => {
      for (
        let chunk = socket.read() as Buffer | null;
        chunk !== null;
        chunk = socket.read() as Buffer | null
      ) {
        head += chunk.toString('latin1');
      }
      const end = head.indexOf('\r\n\r\n');
      if (end === -1 && head.length > maxHeadBytes) fail(`sent more than ${maxHeadBytes} bytes of header`);
      else if (end !== -1 && end + 4 < head.length) fail('sent more than an answer to CONNECT');
      else if (end !== -1) stop();
    };
    socket.on('readable', read).on('error', stop).on('close', closed);
  });
}
