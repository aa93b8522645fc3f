// The HTTP proxy that connections may have to go through, and how it is given. SOCKS, proxy configuration files and proxy
// authentication other than Basic are left out.
import { decodePercent } from '../errors/untrusted-text.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';

export interface Proxy {
  readonly hostname: string;
  readonly port: number;
  /** The connection to the proxy itself is TLS. */
  readonly isSecure: boolean;
  /** Value of the `proxy-authorization` field. */
  readonly authorization: string | undefined;
}

/** @throws {DeskbellError} ERR_CONFIGURATION for anything but an http or https URL, and for credentials with a stray "%" */
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
 * The proxy that the environment names, as curl reads it: lower case goes before upper case, and a proxy without a scheme
 * is an http one. `http_proxy` is not read, since push services are https.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION names the variable that holds no http or https URL
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
