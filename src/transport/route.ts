// Where the connection to an origin goes: which addresses, and whether through a proxy. Without a proxy, the guard checks every address of
// the origin's name, and only those are connected to. Names given by the operator and those of known push services are resolved by the
// system, all others by DNS alone. Behind a proxy the guard cannot see the address, because the proxy resolves the name. It refuses what it
// can see (IP literals that are not public); protecting the rest of an inner network is up to the proxy, and the endpoint policy's list of
// hosts applies in any case.
import { isIP } from 'node:net';

import {
  type AddressPolicy,
  isLoopbackName,
  literalAddress,
  type Resolve,
  resolveHost,
  resolveWithDns,
  resolveWithSystem,
} from './address-policy.ts';
import type { Proxy } from './proxy.ts';
import type { ResolvedAddress } from './transport.ts';

export interface Route {
  /** The origin's, IPv6 without brackets: for the certificate, and for the proxy. */
  readonly host: string;
  readonly port: number;
  /** The only addresses to connect to: the origin's, or the proxy's. */
  readonly addresses: readonly ResolvedAddress[];
  /** The port at those addresses. */
  readonly addressPort: number;
  readonly proxy?: Proxy;
  /** Throws if the real address of the connection is not permitted; absent if any is. */
  readonly check?: ((address: string) => void) | undefined;
}

export interface RouteSettings {
  /** Default: the system's resolver, and DNS for unlisted push services. */
  readonly resolve: Resolve | undefined;
  /** True for origins that the operator named: any address will do. */
  readonly isNamedOrigin: (origin: string) => boolean;
  readonly addressPolicy: AddressPolicy;
  /** True for origins that a stranger named, if any public host is admitted. */
  readonly isUnlisted: (origin: string) => boolean;
  readonly proxy?: Proxy | undefined;
  readonly noProxy?: readonly string[] | undefined;
  readonly connectOverride?:
    | ((origin: string) => { readonly host: string; readonly port: number } | undefined)
    | undefined;
}

/**
 * @param signal ends DNS look-ups
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED, ERR_CONNECTION
 */
export async function findRoute(origin: URL, settings: RouteSettings, signal: AbortSignal): Promise<Route> {
  const { proxy, resolve = resolveWithSystem } = settings;
  const host = origin.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(origin.port) || (origin.protocol === 'https:' ? 443 : 80);
  const override = settings.connectOverride?.(origin.origin);
  if (override !== undefined) {
    const addresses = await resolveHost(override.host, resolve);
    return { host, port, addresses, addressPort: override.port };
  }
  const isUnlisted = settings.isUnlisted(origin.origin);
  const check = settings.isNamedOrigin(origin.origin)
    ? undefined
    : (address: string) =>
        settings.addressPolicy.check(origin.hostname, address, isUnlisted ? 'unlisted' : 'listed');
  if (proxy === undefined || isProxyBypassed(origin.hostname, settings.noProxy)) {
    const withDns: Resolve = (hostname) => resolveWithDns(hostname, signal);
    const isStrange = settings.resolve === undefined && isUnlisted;
    const addresses = await resolveHost(origin.hostname, isStrange ? withDns : resolve, check);
    return { host, port, addresses, addressPort: port, check };
  }
  for (const { address } of literalAddress(origin.hostname) ?? []) check?.(address);
  const addresses = await resolveHost(proxy.hostname, resolve);
  return { host, port, addresses, addressPort: proxy.port, proxy };
}

/**
 * True for a host that is reached without the proxy: loopback always (a proxy's loopback is not ours), and what `noProxy` names: a host, a
 * domain with all hosts under it (with or without a leading dot), or `*`.
 *
 * @param hostname as `URL.hostname` gives it
 */
export function isProxyBypassed(hostname: string, noProxy: readonly string[] = []): boolean {
  if (isLoopbackName(hostname)) return true;
  return noProxy.some((entry) => {
    const domain = entry.toLowerCase().replace(/^\*?\.(?=.)/, '');
    return domain === '*' || hostname === domain || (isIP(hostname) === 0 && hostname.endsWith(`.${domain}`));
  });
}
