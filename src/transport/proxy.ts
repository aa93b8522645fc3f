// The HTTP proxy that connections may have to go through, and how it is given. SOCKS, proxy configuration files and proxy
// authentication other than Basic are left out.
import { DeskbellError } from '../errors/deskbell-error.ts';

export interface Proxy {
  readonly hostname: string;
  readonly port: number;
  /** The connection to the proxy itself is TLS. */
  readonly isSecure: boolean;
  /** Value of the `proxy-authorization` field. */
  readonly authorization: string | undefined;
}

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
    authorization: credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/** The proxy that the environment names, as curl and others read it; lower case goes before upper case. */
export function proxyFromEnvironment(environment: Readonly<Record<string, string | undefined>>): {
  proxy: string | undefined;
  noProxy: string[] | undefined;
} {
  const read = (name: string): string | undefined => environment[name] || environment[name.toUpperCase()];
  const proxy = read('https_proxy') ?? read('all_proxy');
  const noProxy = read('no_proxy')
    ?.split(/[\s,]+/)
    .filter((entry) => entry !== '');
  return { proxy, noProxy };
}
