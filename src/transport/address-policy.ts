// Which addresses a push service may have. An endpoint is text from a stranger: without a policy it could point a push request
// at the machine itself or at its private network (SSRF). It depends on who has named the push service:
//
//   unlisted  a stranger, if any public host is admitted: public addresses only
//   listed    Deskbell knows it, or the operator lists its domain: public addresses, and ranges that the operator allows, for a
//             network whose proxy answers with addresses of its own. Never loopback or link-local
//   named     the operator names its origin exactly: any address, and this policy is not asked
//
// An address of NAT64 (RFC 6052) is judged by the IPv4 address inside, for everybody.
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { type AddressRange, readAddressSettings } from './address-settings.ts';
import { codeOf } from './connection-errors.ts';
import type { ResolvedAddress } from './transport.ts';

/** Whose addresses are checked. */
export type Subject = 'unlisted' | 'listed';

export interface AddressPolicy {
  /** @throws {DeskbellError} ERR_ADDRESS_BLOCKED, with the remedy */
  check(hostname: string, address: string, subject: Subject): void;
}

/** @throws {DeskbellError} ERR_CONFIGURATION, naming the setting */
export function createAddressPolicy(settings: Parameters<typeof readAddressSettings>[0] = {}): AddressPolicy {
  const { allowed, prefixes } = readAddressSettings(settings);
  return {
    check(hostname, address, subject) {
      const judged = embeddedIpv4(address, prefixes);
      if (isPublicAddress(judged)) return;
      const isListed = subject === 'listed';
      if (isListed && allowed.some((range) => range.contains(judged))) return;
      const remedy = isListed ? remedyFor(judged) : ownRemedy;
      const message = `${hostname} leads to ${address}, which is not a public address. ${remedy}`;
      throw new DeskbellError('ERR_ADDRESS_BLOCKED', message, { remedy });
    },
  };
}

// RFC 4291 §2.4, IANA: the only block of IPv6 with public addresses. Addresses that embed an IPv4 address are outside it (mapped,
// compatible) or in a range of their own (6to4, Teredo).
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * True for an address that is reachable on the public Internet: global unicast, and in none of the special-purpose
 * registries (RFC 6890). False for everything else, text that is no address included.
 */
export function isPublicAddress(address: string): boolean {
  // `ipaddr.parse` also accepts 0x7f.1 and the like; a resolver returns the normal form
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(globalUnicast));
}

/** Bits 64 to 71, which are zero. */
const reservedOctet = 8;

/** The IPv4 address inside a NAT64 address (RFC 6052 §2.2); any other address unchanged. */
function embeddedIpv4(address: string, prefixes: readonly AddressRange[]): string {
  const prefix = prefixes.find((range) => range.contains(address));
  if (prefix === undefined) return address;
  const octets = ipaddr.parse(address).toByteArray();
  const { bits } = prefix;
  if (bits < 96 && octets[reservedOctet] !== 0) return address;
  const rest = bits < 96 ? octets.toSpliced(reservedOctet, 1) : octets;
  return rest.slice(bits / 8, bits / 8 + 4).join('.');
}

const ownRemedy = 'If this push service is yours, add its origin to "pushServices".';

/** A listed push service has such an address because of the local network: one of three cases. */
function remedyFor(address: string): string {
  const kind = isIP(address) === 0 ? 'invalid' : ipaddr.parse(address).range();
  const isOfMachine = ['loopback', 'linkLocal', 'unspecified', 'ipv4Mapped'].includes(kind);
  if (isOfMachine) return 'The name server or the hosts file of this machine leads it here: set that right.';
  if (isIP(address) === 6 && kind !== 'uniqueLocal')
    return 'If NAT64 is in use here, give its prefix as "nat64Prefix".';
  return (
    'If a proxy or VPN of this network answers with addresses of its own, allow their range with "pushServiceAddresses"; ' +
    'if the push service is yours, add its origin to "pushServices".'
  );
}

// Looks up the addresses of a push service's host and lets only permitted ones pass. Which host names are admitted is up to the endpoint
// policy.

export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Every address that the system's resolver has for a name, including the hosts file. */
export const resolveWithSystem: Resolve = async (hostname) => {
  const addresses = await lookup(hostname, { all: true });
  return addresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * The addresses that DNS has for a public name, IPv4 first. The system's resolver blocks a thread for each name until it is answered, and
 * the process has few of them: hosts with silent DNS servers could stop every look-up. This one uses a socket, and closes it when nobody
 * waits for it any more. It does not read the hosts file.
 *
 * @param signal ends it
 * @throws {Error} with DNS's code, such as ENOTFOUND or ETIMEOUT, if neither family has an address
 */
export async function resolveWithDns(
  hostname: string,
  signal: AbortSignal,
  resolver = new Resolver({ timeout: 2000, tries: 2 }),
): Promise<readonly ResolvedAddress[]> {
  const ipv4 = resolver.resolve4(hostname).then(ofFamily(4));
  const ipv6 = resolver.resolve6(hostname).then(ofFamily(6));
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel);
  const answers = await Promise.allSettled([ipv4, ipv6]);
  signal.removeEventListener('abort', cancel);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  return addresses.length === 0 ? ipv4 : addresses;
}

const ofFamily =
  (family: 4 | 6) =>
  (addresses: readonly string[]): readonly ResolvedAddress[] =>
    addresses.map((address) => ({ address, family }));

/**
 * The addresses of a host that may be connected to. One address that is not public refuses the whole host: a name that leads inside even
 * sometimes is an attack or a mistake.
 *
 * @param hostname as `URL.hostname` gives it (IPv6 in brackets)
 * @param check throws for an address that may not be connected to; absent if all may
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED; ERR_CONNECTION if the name has no address
 */
export async function resolveHost(
  hostname: string,
  resolve: Resolve,
  check?: (address: string) => void,
): Promise<readonly ResolvedAddress[]> {
  if (check !== undefined && isLoopbackName(hostname)) check(loopbackAddress);
  const addresses = literalAddress(hostname) ?? (await resolveName(hostname, resolve));
  for (const { address } of addresses) check?.(address);
  return addresses;
}

/**
 * A look-up that returns the addresses that were checked: nothing is resolved a second time (DNS rebinding). It answers asynchronously,
 * like any look-up: a connection that fails at once, for example without a route, would otherwise fail while `tls.connect` is still setting
 * it up, and make it throw a TypeError.
 */
export const pinTo =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    process.nextTick(() => {
      if (all) callback(null, [...addresses]);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };

const loopbackAddress = '127.0.0.1';

/** True for names of the machine itself (RFC 6761 §6.3) and its loopback addresses. */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:.*\.)?localhost\.?$|^127\.\d+\.\d+\.\d+$|^\[::1\]$/.test(hostname);
}

/** If the host name is an address: that address, as a list like a resolver's. */
export function literalAddress(hostname: string): readonly ResolvedAddress[] | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(address);
  return family === 0 ? undefined : [{ address, family: family === 6 ? 6 : 4 }];
}

async function resolveName(hostname: string, resolve: Resolve): Promise<readonly ResolvedAddress[]> {
  let addresses: readonly ResolvedAddress[];
  try {
    addresses = await resolve(hostname);
  } catch (cause) {
    throw new DeskbellError('ERR_CONNECTION', `${hostname} could not be resolved${codeOf(cause)}.`, {
      cause,
    });
  }
  if (addresses.length === 0) throw new DeskbellError('ERR_CONNECTION', `${hostname} has no address.`);
  return addresses;
}
