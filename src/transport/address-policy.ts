// Which addresses a push service may have. An endpoint is text from a stranger: without a policy it could point a push request
// at the machine itself or at its private network (SSRF). It depends on who has named the push service:
//
//   unlisted  a stranger, where any public host is admitted: public addresses only
//   listed    Deskbell knows it, or the operator lists its domain: public addresses, and ranges that the operator allows, for a
//             network whose proxy answers with addresses of its own. Never loopback or link-local
//   named     the operator names its origin exactly: any address, and this policy is not asked
//
// An address of NAT64 (RFC 6052) is judged by the IPv4 address inside, for everybody.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { readAddressSettings, type AddressRange } from './address-settings.ts';

/** Whose addresses are looked at. */
export type Subject = 'unlisted' | 'listed';

export interface AddressPolicy {
  /** @throws {DeskbellError} ERR_ADDRESS_BLOCKED, with what may be done about it */
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

// RFC 4291 §2.4, IANA: the only part of IPv6 from which public addresses are given out. All that embeds an IPv4
// address lies outside of it (mapped, compatible) or is named by a range of its own (6to4, Teredo).
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * True for an address that is reachable on the public Internet: global unicast, and in none of the special-purpose
 * registries (RFC 6890). False for everything else, text that is no address included.
 */
export function isPublicAddress(address: string): boolean {
  // `ipaddr.parse` also reads 0x7f.1 and the like; an address that a resolver gave has its normal form.
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(globalUnicast));
}

/** Bits 64 to 71, which are zero. */
const reservedOctet = 8;

/** The IPv4 address in one of NAT64 (RFC 6052 §2.2); any other address as it is. */
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

/** A listed push service has such an address because of the network here: one of three cases. */
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
