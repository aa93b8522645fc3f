// Decides which addresses a push service may have. Anybody can make up an endpoint: without this policy, it could
// direct a push request to this machine or its private network (SSRF). The rules depend on who named the push
// service:
//
//   unlisted  only an endpoint names it, and any public host is allowed: only public addresses
//   listed    Deskbell knows it, or the operator lists its domain: public addresses, and ranges that the operator
//             allows (some proxies answer with their own addresses), but never loopback or link-local addresses
//   named     the operator names exactly this origin: any address; this policy is not asked
//
// A NAT64 address (RFC 6052) is always judged by the IPv4 address inside it.
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { type AddressRange, readAddressSettings } from './address-settings.ts';
import { codeOf } from './connection-errors.ts';
import { isLoopbackName } from './proxy.ts';
import type { ResolvedAddress } from './transport.ts';

export type Subject = 'unlisted' | 'listed';

export type CheckAddress = ReturnType<typeof createAddressPolicy>;

/** @throws {DeskbellError} ERR_CONFIGURATION, naming the setting */
export function createAddressPolicy(settings: Parameters<typeof readAddressSettings>[0] = {}) {
  const { allowed, prefixes } = readAddressSettings(settings);
  /** @throws {DeskbellError} ERR_ADDRESS_BLOCKED, saying what to do */
  return (hostname: string, address: string, subject: Subject): void => {
    const judged = embeddedIpv4(address, prefixes);
    if (isPublicAddress(judged)) return;
    const isListed = subject === 'listed';
    if (isListed && allowed.some((range) => range.contains(judged))) return;
    const remedy = isListed ? remedyFor(judged) : ownRemedy;
    const message = `${hostname} leads to ${address}, which is not a public address. ${remedy}`;
    throw new DeskbellError('ERR_ADDRESS_BLOCKED', message, { remedy });
  };
}

// RFC 4291 §2.4, IANA: the only IPv6 block with public addresses. IPv4-mapped and IPv4-compatible addresses are outside
// it; `range()` reports 6to4 and Teredo separately.
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * True for an address that is reachable on the public Internet: it is global unicast and in none of the
 * special-purpose registries (RFC 6890). False for everything else, including text that is not an address.
 */
export function isPublicAddress(address: string): boolean {
  // `ipaddr.parse` also accepts forms like 0x7f.1, which no resolver returns
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(globalUnicast));
}

/** RFC 6052 §2.2: bits 64 to 71 must be zero. */
const reservedOctet = 8;

/** Returns the IPv4 address inside a NAT64 address (RFC 6052 §2.2), or any other address unchanged. */
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

/** Says what to do about a listed push service with a disallowed address. The cause is in the local network. */
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

// Resolves a push service's host and checks its addresses. The endpoint policy decides which host names are allowed.

export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Returns every address that the system's resolver finds, including those in the hosts file. */
export const resolveWithSystem: Resolve = async (hostname) => {
  const addresses = await lookup(hostname, { all: true });
  return addresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * Asks DNS for the addresses of a public name; IPv4 addresses come first. The system's resolver would block one of a
 * few threads while it waits, so hosts with silent DNS servers could stop every look-up. This resolver uses a socket
 * instead, which is closed when no look-up needs it. It does not read the hosts file.
 *
 * @param signal ends the look-up
 * @throws {Error} with DNS's code, such as ENOTFOUND or ETIMEOUT, if there is neither an IPv4 nor an IPv6 address
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
 * Resolves a host and checks all of its addresses. A single disallowed address rules out the whole host: a name that
 * sometimes resolves into the private network is an attack or a mistake.
 *
 * @param hostname as `URL.hostname` returns it (IPv6 in brackets)
 * @param check throws if an address may not be connected to; absent if every address is allowed
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
 * Makes a look-up function that returns the checked addresses, so that the name is not resolved again (DNS rebinding).
 * The function calls back asynchronously: a synchronous call could let the connection fail (for example if there is no
 * route) before `tls.connect` has set it up, and `tls.connect` would throw a TypeError.
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

/** If the host name is an IP address, returns it in a list, as a resolver would. */
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
