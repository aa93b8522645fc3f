// Looks up the addresses of a push service's host, and lets only those pass that may be connected to (address-policy.ts).
// Which host names are admitted is the endpoint policy's part.
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { codeOf } from './connection-errors.ts';
import type { ResolvedAddress } from './transport.ts';

export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** Every address that the system's resolver has for a name, the hosts file included. */
export const resolveWithSystem: Resolve = async (hostname) => {
  const addresses = await lookup(hostname, { all: true });
  return addresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * The addresses that DNS has for a public name, IPv4 first. The system's resolver keeps a thread for each name until it is
 * answered, and a process has few of them for all of its threads together: whoever names hosts with silent DNS servers
 * could stop every look-up. This one keeps a socket, and ends it when it is not waited for any more. It does not read the
 * hosts file.
 *
 * @param signal ends it
 * @throws {Error} with DNS's code, such as ENOTFOUND or ETIMEOUT, where neither family has an address
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
 * The addresses of a host that may be connected to. One address that is not public refuses the host as a whole: a
 * name that leads inside even sometimes is an attack or a mistake.
 *
 * @param hostname as `URL.hostname` gives it (IPv6 in brackets)
 * @param check throws for an address that may not be connected to; absent where any will do
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED; ERR_CONNECTION where the name has no address
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
 * A look-up that gives the addresses that were checked: nothing is resolved a second time (DNS rebinding). It answers later, like
 * any look-up: a connection that fails at once, without a route for instance, would otherwise fail while `tls.connect` is still
 * setting it up, and make it throw a TypeError.
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

/** True for names that mean the machine itself (RFC 6761 §6.3) or one of its loopback addresses. */
export function isLoopbackName(hostname: string): boolean {
  return /^(?:.*\.)?localhost\.?$|^127\.\d+\.\d+\.\d+$|^\[::1\]$/.test(hostname);
}

/** The address that a host name is, where it is one: as a list like a resolver's. */
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
