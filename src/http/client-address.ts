// Who a client is for limits: one function for every limit that counts by address.
import proxyAddress from '@fastify/proxy-addr';
import type { FastifyInstance } from 'fastify';
import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

/** What is no address counts as one client. */
const unknownClient = 'unknown';

/** Which proxies are trusted, as options of listeners say it. */
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
 * What limits count: an IPv4 address, or the /64 network of an IPv6 address, since one client has a whole one.
 *
 * @param ip what a socket or a proxy says, such as `192.0.2.1`, `192.0.2.1:5678` or `[2001:db8::1]:5678`
 */
export function clientOf({ ip }: { readonly ip: string | undefined }): string {
  const address = addressOf(ip ?? '');
  if (address === undefined) return unknownClient;
  if (isIP(address) === 4) return address;
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`);
  return `${network.toString()}/64`;
}

/** Without brackets, port and zone; IPv4 in IPv6 (RFC 4291 §2.5.5.2) and of NAT64 (RFC 6052) as IPv4. */
function addressOf(text: string): string | undefined {
  const host = isIP(text) === 0 ? text.trim().replace(/^\[(.*)\](?::\d*)?$|^([^:]*):\d*$/, '$1$2') : text;
  const [address = ''] = host.split('%', 1);
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : undefined;
  const parsed = ipaddr.IPv6.parse(address);
  const hasIpv4 = parsed.isIPv4MappedAddress() || parsed.range() === 'rfc6052';
  return hasIpv4 ? parsed.toByteArray().slice(-4).join('.') : parsed.toString();
}

/**
 * Reads `Forwarded` (RFC 7239) of proxies that write it and no `X-Forwarded-For`. Whether the proxy is trusted decides, as for
 * `X-Forwarded-For`, who reads the address. To be called before any other hook reads it.
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

/** The clients of each hop. Where the text breaks the grammar, the client is unknown: it may have written the beginning itself. */
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
