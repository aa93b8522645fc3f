// One connection to an origin: resolved, guarded, connected to exactly the address that was checked, through a proxy
// where one is set, with TLS and ALPN for https.
//
// Behind a proxy the guard cannot see the address: the proxy resolves the name. It then refuses what can be seen (IP
// literals that are not public, names of the machine itself); keeping the rest of an inner network out of reach is
// the proxy's part, and the endpoint policy's list of hosts goes before both.
import { once } from 'node:events';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { blocked, isPublicAddress, literalAddress, resolveHost, type Resolve } from './address-guard.ts';
import { isLoopbackName, isProxyBypassed, openTunnel, type Proxy } from './proxy.ts';
import type { ResolvedAddress } from './transport.ts';

export interface Connection {
  readonly socket: Socket;
  /** What ALPN settled on (RFC 7301); `http/1.1` without TLS. */
  readonly protocol: 'h2' | 'http/1.1';
}

export interface ConnectSettings {
  readonly secureContext: SecureContext;
  readonly resolve: Resolve;
  /** True for origins that the operator named: any address will do. */
  readonly isNamedOrigin: (origin: string) => boolean;
  readonly proxy?: Proxy;
  readonly noProxy?: readonly string[];
  readonly connectTimeoutMs: number;
  readonly connectOverride?: (origin: string) => { readonly host: string; readonly port: number } | undefined;
}

/** Trust in the system's authorities and the given ones. Made once: it is dear. */
export function createTrust(ca: readonly string[] = []): SecureContext {
  return createSecureContext(ca.length === 0 ? {} : { ca: [...getCACertificates('default'), ...ca] });
}

/**
 * Connects to an origin.
 *
 * @param aborted ends the attempt with the signal's reason
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED, ERR_CONNECTION, ERR_TLS, ERR_TIMEOUT
 */
export async function connect(
  origin: URL,
  settings: ConnectSettings,
  aborted: AbortSignal,
): Promise<Connection> {
  // Ends every socket that the attempt has opened; never fired after it has succeeded.
  const attempt = new AbortController();
  const timer = setTimeout(() => {
    const seconds = settings.connectTimeoutMs / 1000;
    attempt.abort(
      new DeskbellError('ERR_TIMEOUT', `${origin.host} could not be connected to within ${seconds} s.`),
    );
  }, settings.connectTimeoutMs);
  const abort = (): void => attempt.abort(aborted.reason);
  aborted.addEventListener('abort', abort);
  try {
    return await Promise.race([openConnection(origin, settings, attempt.signal), rejection(attempt.signal)]);
  } catch (error) {
    if (!attempt.signal.aborted) attempt.abort(error);
    throw attempt.signal.reason;
  } finally {
    clearTimeout(timer);
    aborted.removeEventListener('abort', abort);
  }
}

async function openConnection(
  origin: URL,
  settings: ConnectSettings,
  signal: AbortSignal,
): Promise<Connection> {
  const route = await openRoute(origin, settings, signal);
  if (origin.protocol === 'http:') return { socket: route, protocol: 'http/1.1' };
  const alpn = ['h2', 'http/1.1'];
  const socket = await startTls(route, bareHost(origin), alpn, settings.secureContext, signal);
  return { socket, protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' };
}

/** A socket whose other end is the origin: direct, through the proxy, or to where the override says. */
async function openRoute(origin: URL, settings: ConnectSettings, signal: AbortSignal): Promise<Socket> {
  const { proxy, resolve } = settings;
  const port = Number(origin.port) || (origin.protocol === 'https:' ? 443 : 80);
  const override = settings.connectOverride?.(origin.origin);
  if (override !== undefined) {
    const addresses = await resolveHost(override.host, resolve, false);
    return openTcp(override.host, override.port, addresses, signal);
  }
  const isGuarded = !settings.isNamedOrigin(origin.origin);
  if (proxy === undefined || isProxyBypassed(origin.hostname, settings.noProxy)) {
    const addresses = await resolveHost(origin.hostname, resolve, isGuarded);
    const socket = await openTcp(bareHost(origin), port, addresses, signal);
    // The addresses were checked before; this checks the one that the connection really has.
    if (isGuarded && !isPublicAddress(socket.remoteAddress ?? '')) {
      throw blocked(origin.hostname, socket.remoteAddress ?? 'an unknown address');
    }
    return socket;
  }
  if (isGuarded) refuseInnerHost(origin.hostname);
  const addresses = await resolveHost(proxy.hostname, resolve, false);
  const tcp = await openTcp(proxy.hostname, proxy.port, addresses, signal);
  const socket = proxy.isSecure
    ? await startTls(tcp, proxy.hostname, ['http/1.1'], settings.secureContext, signal)
    : tcp;
  await openTunnel(socket, `${origin.hostname}:${port}`, proxy);
  return socket;
}

/** What the guard can see of a host that a proxy will resolve. */
function refuseInnerHost(hostname: string): void {
  const literal = literalAddress(hostname)?.[0]?.address;
  if (isLoopbackName(hostname)) throw blocked(hostname, 'the machine itself');
  if (literal !== undefined && !isPublicAddress(literal)) throw blocked(hostname, literal);
}

async function openTcp(
  host: string,
  port: number,
  addresses: readonly ResolvedAddress[],
  signal: AbortSignal,
): Promise<Socket> {
  // Pins the connection to the addresses that were checked: nothing is resolved a second time (DNS rebinding).
  const pinned: LookupFunction = (_hostname, options, callback) => {
    const first = addresses[0];
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
  const socket = connectTcp({
    host,
    port,
    lookup: pinned,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1000,
    noDelay: true,
    signal,
  });
  try {
    await once(socket, 'connect');
    return socket;
  } catch (cause) {
    throw new DeskbellError('ERR_CONNECTION', `${host}:${port} cannot be reached${reasonOf(cause)}.`, {
      cause,
    });
  }
}

async function startTls(
  route: Socket,
  host: string,
  alpnProtocols: string[],
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  // RFC 6066 §3: no address in SNI; the certificate is checked against `host` in either case.
  const servername = isIP(host) === 0 ? host : '';
  const socket = connectTls({
    socket: route,
    host,
    servername,
    ALPNProtocols: alpnProtocols,
    secureContext,
  });
  try {
    await once(socket, 'secureConnect', { signal });
    return socket;
  } catch (cause) {
    throw new DeskbellError('ERR_TLS', `TLS with ${host} failed${reasonOf(cause)}.`, { cause });
  }
}

/** IPv6 without its brackets, as sockets and certificates want it. */
const bareHost = (origin: URL): string => origin.hostname.replace(/^\[(.*)\]$/, '$1');

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  return 'code' in cause ? ` (${String(cause.code)})` : ` (${cause.message})`;
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
