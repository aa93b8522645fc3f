// Finds the route to an origin: which addresses to connect to, and whether through a proxy. Without a proxy, the
// address guard checks every address of the origin's name, and connections are made only to those. The system
// resolves names from the operator and names of known push services; DNS alone resolves all others. A proxy resolves
// names itself, so the guard cannot see these addresses and only refuses IP literals that are not public. The proxy
// must then protect the rest of a private network. The endpoint policy's list of hosts applies in any case.
import { once } from 'node:events';
import { connect as connectTcp, isIP, type OnReadOpts, type Socket, type TcpNetConnectOpts } from 'node:net';
import {
  checkServerIdentity,
  type ConnectionOptions,
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import {
  type CheckAddress,
  createAddressPolicy,
  literalAddress,
  pinTo,
  type Resolve,
  resolveHost,
  resolveWithDns,
  resolveWithSystem,
} from './address-policy.ts';
import { defaultTimeouts, timeoutError } from './check-options.ts';
import { type Clock, systemClock } from './clock.ts';
import { connectionError, reasonOf, toFault } from './connection-errors.ts';
import { isProxyBypassed, openTunnel, parseProxy, type Proxy } from './proxy.ts';
import type { ResolvedAddress, TransportOptions } from './transport.ts';

interface Route {
  /** The origin's host, without IPv6 brackets. Used for the certificate check and the proxy. */
  readonly host: string;
  readonly port: number;
  /** The only addresses to connect to: the origin's or the proxy's. */
  readonly addresses: readonly ResolvedAddress[];
  /** The port to connect to at these addresses. */
  readonly addressPort: number;
  readonly proxy?: Proxy;
  /**
   * Checks the address to which the socket has connected, and throws if the address is not allowed. This function is
   * absent if every address is allowed.
   */
  readonly check?: ((address: string) => void) | undefined;
}

interface RouteSettings extends Pick<TransportOptions, 'resolve' | 'noProxy' | 'connectOverride'> {
  /** True for origins that the operator named. Such an origin may have any address. */
  readonly isNamedOrigin: (origin: string) => boolean;
  readonly checkAddress: CheckAddress;
  /** True for origins that are neither known nor listed, if any public host is allowed. */
  readonly isUnlisted: (origin: string) => boolean;
  readonly proxy?: Proxy | undefined;
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
        settings.checkAddress(origin.hostname, address, isUnlisted ? 'unlisted' : 'listed');
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

// Opens one connection within one time limit: TCP to exactly the addresses that were checked, a tunnel if there is a
// proxy, and TLS with ALPN for https.

/** The protocol that ALPN selected (RFC 7301). Without TLS: `http/1.1`. */
export type Protocol = 'h2' | 'http/1.1';

export interface Connection {
  readonly socket: Socket;
  /** Reads the socket, whose `data` event must not be used. */
  readonly reader: SocketReader;
  readonly protocol: Protocol;
}

export interface ConnectSettings extends RouteSettings, Pick<Clock, 'startTimer'> {
  /** Returns the authorities that TLS trusts. */
  readonly trust: () => SecureContext;
  readonly connectTimeoutMs: number;
}

/** @throws {DeskbellError} ERR_CONFIGURATION */
export function readConnectSettings(options: TransportOptions): ConnectSettings {
  const { isNamedOrigin, isUnlisted } = createEndpointPolicy(options.pushServices);
  return {
    ...options,
    trust: createTrust(options.ca),
    connectTimeoutMs: options.connectTimeoutMs ?? defaultTimeouts.connectTimeoutMs,
    startTimer: options.startTimer ?? systemClock.startTimer,
    proxy: options.proxy === undefined ? undefined : parseProxy(options.proxy),
    isNamedOrigin,
    isUnlisted,
    checkAddress: createAddressPolicy(options),
  };
}

/**
 * Connects to an origin.
 *
 * @param aborted ends the attempt with the signal's reason
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED, ERR_CONNECTION, ERR_TLS, ERR_TIMEOUT, ERR_SENDER_FAULT; nothing else
 */
export async function connect(
  origin: URL,
  settings: ConnectSettings,
  aborted: AbortSignal,
): Promise<Connection> {
  // aborting this signal ends every socket of the attempt; it is never aborted after success
  const attempt = new AbortController();
  const timeOut = (): void => {
    attempt.abort(timeoutError(origin.host, 'accept a connection', settings.connectTimeoutMs));
  };
  const timer = settings.startTimer(timeOut, settings.connectTimeoutMs, true);
  const abort = (): void => attempt.abort(aborted.reason);
  aborted.addEventListener('abort', abort);
  try {
    return await Promise.race([openConnection(origin, settings, attempt.signal), rejection(attempt.signal)]);
  } catch (thrown) {
    const fault = toFault(origin.host, attempt.signal.aborted ? attempt.signal.reason : thrown);
    attempt.abort(fault);
    throw fault;
  } finally {
    timer.cancel();
    aborted.removeEventListener('abort', abort);
  }
}

async function openConnection(
  origin: URL,
  settings: ConnectSettings,
  signal: AbortSignal,
): Promise<Connection> {
  const route = await findRoute(origin, settings, signal);
  const reader = new SocketReader();
  const isSecure = origin.protocol === 'https:';
  const tls = isSecure ? tlsOptions(route.host, settings.trust(), ['h2', 'http/1.1']) : undefined;
  let socket: Socket;
  if (route.proxy === undefined) {
    const tcp = { ...tcpOptions(route, signal), onread: reader.onread };
    socket = guardErrors(tls === undefined ? connectTcp(tcp) : connectTls({ ...tcp, ...tls }));
    await finishTcp(socket, route);
  } else {
    const tunnel = await openProxyTunnel(route, route.proxy, settings.trust, signal);
    if (tunnel.destroyed) throw connectionError('The proxy', 'closed the connection at once');
    socket = tls === undefined ? tunnel : guardErrors(connectTls({ ...tls, socket: tunnel }));
    reader.readFrom(socket);
  }
  if (isSecure) await finishTls(socket, route.host, signal);
  if (socket.destroyed) throw connectionError(route.host, 'closed the connection at once');
  const isHttp2 = isSecure && (socket as TLSSocket).alpnProtocol === 'h2';
  return { socket, reader, protocol: isHttp2 ? 'h2' : 'http/1.1' };
}

async function openProxyTunnel(
  route: Route,
  proxy: Proxy,
  trust: () => SecureContext,
  signal: AbortSignal,
): Promise<Socket> {
  const tcp = tcpOptions(route, signal);
  const socket = guardErrors(
    proxy.isSecure
      ? connectTls({ ...tcp, ...tlsOptions(proxy.hostname, trust(), ['http/1.1']) })
      : connectTcp(tcp),
  );
  await finishTcp(socket, route);
  if (proxy.isSecure) await finishTls(socket, proxy.hostname, signal);
  const host = isIP(route.host) === 6 ? `[${route.host}]` : route.host;
  await openTunnel(socket, `${host}:${route.port}`, proxy);
  return socket;
}

function tcpOptions({ addresses, addressPort }: Route, signal: AbortSignal): TcpNetConnectOpts {
  return {
    // a name that cannot exist: Node passes it to `lookup`, which returns the checked addresses
    host: 'push-service.invalid',
    port: addressPort,
    lookup: pinTo(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1000,
    noDelay: true,
    signal,
  };
}

function tlsOptions(host: string, secureContext: SecureContext, alpnProtocols: string[]): ConnectionOptions {
  return {
    // RFC 6066 §3: SNI must not contain an address. The certificate is checked against `host` in any case.
    servername: isIP(host) === 0 ? host : '',
    checkServerIdentity: (_host, certificate) => checkServerIdentity(host, certificate),
    ALPNProtocols: alpnProtocols,
    secureContext,
  };
}

/** Prevents uncaught errors while nothing uses the socket. The next user finds the socket destroyed. */
function guardErrors<Kind extends Socket>(socket: Kind): Kind {
  return socket.on('error', () => {});
}

async function finishTcp(socket: Socket, { host, proxy, addressPort, check }: Route): Promise<void> {
  try {
    await once(socket, 'connect');
  } catch (cause) {
    const message = `${proxy?.hostname ?? host}:${addressPort} cannot be reached${reasonOf(cause)}.`;
    throw new DeskbellError('ERR_CONNECTION', message, { cause });
  }
  // the addresses were checked before connecting; this checks the address that the socket actually connected to
  check?.(socket.remoteAddress ?? 'an unknown address');
}

async function finishTls(socket: Socket, host: string, signal: AbortSignal): Promise<void> {
  try {
    // the socket may have failed before this function was called
    if (socket.errored) throw socket.errored;
    await once(socket, 'secureConnect', { signal });
  } catch (cause) {
    throw new DeskbellError('ERR_TLS', `TLS with ${host} failed${reasonOf(cause)}.`, { cause });
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

// Reads a socket for one consumer. Push services answer in many small pieces, and for each piece
// Node's streams take more CPU than parsing the response does. So the socket reads into our own buffer (`onread`).

/** The size of one TLS record. */
const bufferBytes = 16_384;

export class SocketReader {
  #take: ((chunk: Buffer) => void) | undefined;
  #early: Buffer[] = [];

  /** Option for opening the socket. */
  readonly onread: OnReadOpts = {
    buffer: Buffer.allocUnsafeSlow(bufferBytes),
    callback: (length, buffer) => {
      this.#put(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    },
  };

  /** Reads a socket that could not be opened with `onread`, because it runs through a proxy's tunnel. */
  readFrom(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#put(chunk));
  }

  /** Passes everything to `take`, including data that has already arrived. A chunk is valid only during the call. */
  read(take: (chunk: Buffer) => void): void {
    this.#take = take;
    for (const chunk of this.#early.splice(0)) take(chunk);
  }

  #put(chunk: Buffer): void {
    if (this.#take === undefined) this.#early.push(Buffer.from(chunk));
    else this.#take(chunk);
  }
}

/** The last context with additional authorities, cached because making one takes thirty milliseconds. */
let last: { readonly ca: readonly string[]; readonly context: SecureContext } | undefined;

/** Trusts Node's authorities and the given ones. Made on first use, because making a context is slow. */
export function createTrust(given: readonly string[] = []): () => SecureContext {
  let context: SecureContext | undefined;
  // Deno's default context trusts neither NODE_EXTRA_CA_CERTS nor DENO_CERT
  const hasAll = given.length === 0 && !('deno' in process.versions);
  return () => (context ??= hasAll ? createSecureContext() : trustAlso(given));
}

function trustAlso(given: readonly string[]): SecureContext {
  const ca = [...getCACertificates('default'), ...given];
  if (!isDeepStrictEqual(last?.ca, ca)) last = { ca, context: createSecureContext({ ca }) };
  return last!.context;
}
