// Hosts, ports, URLs and address ranges, as settings name them.
import { isIP } from 'node:net';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { isLoopback } from '../../http/client-address.ts';

export function checkHosts(hosts: readonly string[]): void {
  for (const host of hosts) {
    if (/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host)) continue;
    throw new DeskbellError('ERR_CONFIGURATION', `${host} is not a host with an optional port`);
  }
}

export function checkAddressRanges(ranges: readonly string[]): void {
  for (const range of ranges) {
    const [address = '', bits = '0', ...rest] = range.split('/');
    const maxBits = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
    if (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits && rest.length === 0) continue;
    throw new DeskbellError('ERR_CONFIGURATION', `${range} is neither an IP address nor a range of them`);
  }
}

export interface ListenAddress {
  /** The host. An IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
}

/** @throws {DeskbellError} ERR_CONFIGURATION */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits = ''] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new DeskbellError('ERR_CONFIGURATION', 'it must be HOST:PORT, such as 127.0.0.1:8081 or [::1]:8081');
}

/**
 * @returns the URL; its path ends with a slash
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
export const parsePublicUrl = (text: string): URL =>
  parseSecureUrl(text, 'since browsers subscribe on no other origin but this machine’s own');

/** Parses the base URL of all bells. Its path ends with a slash. @throws {DeskbellError} ERR_CONFIGURATION */
export const parseBellsUrl = (text: string): URL =>
  parseSecureUrl(text, 'since its path has the secret of a bell, or "http:" and a host that is this machine');

/** @param why the end of the error message, after 'it must begin with "https:"' */
function parseSecureUrl(text: string, why: string): URL {
  const url = URL.parse(text);
  if (url === null) throw wrong('it must be a URL such as https://bell.example.org');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal(url))) {
    throw wrong(`it must begin with "https:", ${why}`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw wrong('it must have scheme, host, port and path alone');
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** Whether only this machine can reach the URL. */
export const isLocal = ({ hostname: name }: URL): boolean => isLoopback(name.replaceAll(/[[\]]/g, ''));

const wrong = (detail: string): DeskbellError => new DeskbellError('ERR_CONFIGURATION', detail);
