// The operator's settings for addresses of push services: ranges to allow, and the network's NAT64 prefix.
import { BlockList, isIP } from 'node:net';

import { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushServices } from '../protocol/endpoint-policy.ts';

export interface AddressSettings {
  /**
   * Ranges to allow although they are not public, such as `198.18.0.0/15` if a proxy resolves names to its own
   * addresses. They apply to known push services and to listed domains. Cannot be combined with `public`.
   */
  readonly pushServiceAddresses?: readonly string[] | undefined;
  /** The network's own NAT64 prefix (RFC 6052), such as `2001:db8:64::/96`. `64:ff9b::/96` needs no setting. */
  readonly nat64Prefix?: string | undefined;
}

export interface AddressRange {
  readonly start: string;
  readonly bits: number;
  contains(address: string): boolean;
}

/** Reads `pushServiceAddresses` and `nat64Prefix`. @throws {DeskbellError} ERR_CONFIGURATION, naming the setting */
export function readAddressSettings({
  pushServiceAddresses = [],
  nat64Prefix,
  pushServices = [],
}: AddressSettings & { readonly pushServices?: PushServices | undefined }) {
  if (pushServiceAddresses.length > 0 && [pushServices].flat().includes('public')) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      '"pushServiceAddresses" cannot be used while "pushServices" has "public": strangers name hosts then. List the push services instead.',
    );
  }
  return {
    allowed: pushServiceAddresses.map(readAllowed),
    prefixes: [wellKnownPrefix, ...(nat64Prefix === undefined ? [] : [readPrefix(nat64Prefix)])],
  };
}

/** RFC 6052 §2.1. */
const wellKnownPrefix = readRange('64:ff9b::/96')!;
/** RFC 6052 §2.2. */
const prefixBits: ReadonlySet<number> = new Set([32, 40, 48, 56, 64, 96]);

function readPrefix(text: string): AddressRange {
  const prefix = readRange(text);
  if (prefix !== undefined && isIP(prefix.start) === 6 && prefixBits.has(prefix.bits)) return prefix;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `"nat64Prefix" is ${JSON.stringify(text)}, which is no prefix of NAT64. Give an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits, ` +
      'such as 2001:db8:64::/96.',
  );
}

/** Never allowed: this host, loopback, link-local, multicast, broadcast, and IPv6 addresses that embed IPv4. */
const neverAllowed = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/8',
  '2001::/32',
  '2002::/16',
  'fe80::/10',
  'ff00::/8',
].map((text) => readRange(text)!);

function readAllowed(text: string): AddressRange {
  const range = readRange(text);
  const overlaps = (other: AddressRange): boolean =>
    range !== undefined && (other.contains(range.start) || range.contains(other.start));
  if (range !== undefined && !neverAllowed.some(overlaps)) return range;
  const problem =
    range === undefined
      ? 'is not a range of addresses'
      : 'has addresses of this machine, of its link, or of no single host';
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `"pushServiceAddresses" holds ${JSON.stringify(text)}, which ${problem}. Give ranges such as 198.18.0.0/15; a push service of your ` +
      'own on this machine belongs into "pushServices", by its origin.',
  );
}

function readRange(text: string): AddressRange | undefined {
  const [, start = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const version = isIP(start);
  const bits = Number(digits);
  if (version === 0 || bits > (version === 4 ? 32 : 128)) return undefined;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(start, bits, family);
  // BlockList treats an IPv4-mapped address as IPv4, so the versions are compared too
  return { start, bits, contains: (address) => isIP(address) === version && list.check(address, family) };
}
