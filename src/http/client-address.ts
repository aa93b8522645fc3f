// Finds the address of a client behind trusted proxies.
import { isIP } from 'node:net';
import proxyAddress from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import ipaddr from 'ipaddr.js';

const unknownClient = 'unknown';

export type TrustedProxies = boolean | string | readonly string[] | undefined;

/** True for the address of a trusted proxy, with or without a port. */
export type IsTrusted = (address: string, hop: number) => boolean;

export function createTrust(proxies: TrustedProxies): IsTrusted {
  if (typeof proxies === 'boolean' || proxies === undefined) return () => proxies === true;
  const names = typeof proxies === 'string' ? proxies.split(',').map((name) => name.trim()) : [...proxies];
  const isTrusted = proxyAddress.compile(names);
  return (address, hop) => isTrusted(addressOf(address) ?? '', hop);
}

/**
 * Returns an IPv4 address, or the /64 network of an IPv6 address, since a client usually has a whole /64 network.
 *
 * @param ip from a socket or proxy, such as `192.0.2.1`, `192.0.2.1:5678` or `[2001:db8::1]:5678`
 */
export function clientOf({ ip }: { readonly ip: string | undefined }): string {
  const address = addressOf(ip ?? '');
  if (address === undefined) return unknownClient;
  if (isIP(address) === 4) return address;
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`);
  return `${network.toString()}/64`;
}

/** Removes brackets, port and zone. IPv4 mapped into IPv6 (RFC 4291 §2.5.5.2) and NAT64 (RFC 6052) become IPv4. */
function addressOf(text: string): string | undefined {
  const host = isIP(text) === 0 ? text.trim().replace(/^\[(.*)\](?::\d*)?$|^([^:]*):\d*$/, '$1$2') : text;
  const [address = ''] = host.split('%', 1);
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : undefined;
  const parsed = ipaddr.IPv6.parse(address);
  const hasIpv4 = parsed.isIPv4MappedAddress() || parsed.range() === 'rfc6052';
  return hasIpv4 ? parsed.toByteArray().slice(-4).join('.') : parsed.toString();
}

/**
 * Copies `Forwarded` (RFC 7239) to `X-Forwarded-For` if the latter is absent. Call this before any hook reads the
 * address.
 */
export function readForwarded(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    if (headers.forwarded !== undefined && headers['x-forwarded-for'] === undefined)
      headers['x-forwarded-for'] = hopsOf(headers.forwarded).join(', ');
    done();
  });
}

const token = String.raw`[\w!#$%&'*+.^|~\x60-]+`;
const pair = new RegExp(String.raw`[ \t]*(?:(${token})=(${token}|"(?:[^"\\]|\\.)*")[ \t]*)?([;,]|$)`, 'y');

/** The client of each hop. Malformed text names no client, because a client may have forged the text. */
function hopsOf(forwarded: string): readonly string[] {
  const hops: string[] = [];
  pair.lastIndex = 0;
  for (let hop = unknownClient; ;) {
    const match = pair.exec(forwarded);
    if (match === null) return [unknownClient];
    const [, name, value = '', end] = match;
    if (name?.toLowerCase() === 'for') hop = value.replace(/^"(.*)"$/s, '$1').replaceAll(/\\(.)/gs, '$1');
    if (end === ';') continue;
    hops.push(hop);
    if (end === '') return hops;
    hop = unknownClient;
  }
}

/** True if the host is this machine. @param host a name or address, without port and brackets */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host);
}
