// Checks the way to push services: proxy, names, connection, TLS and clock. The only request sent is `HEAD /`.
import { once } from 'node:events';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createAddressPolicy } from '../../transport/address-policy.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { systemClock } from '../../transport/clock.ts';
import { connect, type ConnectSettings, createTrust, isProxyBypassed } from '../../transport/connect.ts';
import { parseProxy } from '../../transport/proxy.ts';
import { defaultTimeouts } from '../../transport/check-options.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import { checkClock } from './check-machine.ts';
import { findingOf, ok, type Finding, type Outcome } from './finding.ts';

/** One host for each vendor. */
export const vendorOrigins = [
  'https://fcm.googleapis.com',
  'https://updates.push.services.mozilla.com',
  'https://web.push.apple.com',
  'https://wns2-par02p.notify.windows.com',
];

export interface NetworkOptions extends Pick<
  TransportOptions,
  | 'pushServices'
  | 'pushServiceAddresses'
  | 'nat64Prefix'
  | 'ca'
  | 'proxy'
  | 'noProxy'
  | 'connectTimeoutMs'
  | 'resolve'
  | 'connectOverride'
> {
  readonly now?: () => number;
}

interface Contact {
  readonly origin: string;
  readonly finding: Finding;
  /** The address guard refuses its address. */
  readonly isBlocked?: boolean;
  /** Their clock minus ours; absent if they did not answer. */
  readonly clockDifferenceMs?: number | undefined;
}

export async function checkNetwork(options: NetworkOptions): Promise<readonly Finding[]> {
  const { pushServices = [] } = options;
  const named = [pushServices].flat().filter((entry) => entry !== 'public' && !entry.includes('*'));
  const contacts = await Promise.all(
    [...vendorOrigins, ...named].map((origin) => contactOf(origin, options)),
  );
  const times = contacts.flatMap(({ origin, clockDifferenceMs: differenceMs }) =>
    differenceMs === undefined ? [] : { host: new URL(origin).host, differenceMs },
  );
  return [
    { subject: 'proxy', ...checkProxy(options) },
    ...summarize(contacts),
    { subject: 'clock', ...checkClock(times) },
  ];
}

/** Reports a machine without a network once. */
function summarize(contacts: readonly Contact[]): readonly Finding[] {
  const reached = contacts.filter(({ finding }) => finding.status === 'ok');
  const vendors = contacts.filter(({ origin }) => vendorOrigins.includes(origin));
  if (vendors.some((vendor) => reached.includes(vendor))) return contacts.map(({ finding }) => finding);
  const others = contacts.filter((contact) => !vendors.includes(contact));
  const cures = new Set(vendors.map(({ finding }) => finding.cure));
  const areBlocked = vendors.every(({ isBlocked }) => isBlocked) && cures.size === 1;
  const offline: Finding = {
    subject: 'network',
    status: reached.length > 0 ? 'warning' : 'fault',
    detail: `no browser's push service can be reached: ${vendors[0]?.finding.detail}`,
    cure: areBlocked
      ? vendors[0]?.finding.cure
      : 'Check the network, name resolution (DNS), the firewall (outbound TCP 443) and the proxy (https_proxy).',
  };
  return [offline, ...others.map(({ finding }) => finding)];
}

function checkProxy({ proxy, noProxy = [] }: NetworkOptions): Outcome {
  if (proxy === undefined) return ok('none');
  const { hostname, port } = parseProxy(proxy);
  const except = noProxy.length === 0 ? '' : `, except for ${noProxy.join(', ')}`;
  return ok(`${hostname}:${port}${except}`);
}

async function contactOf(origin: string, options: NetworkOptions): Promise<Contact> {
  const url = new URL(origin);
  let isBlocked = false;
  const look = (): Promise<Outcome> =>
    connectTo(url, options).catch((error: unknown) => {
      isBlocked = error instanceof DeskbellError && error.code === 'ERR_ADDRESS_BLOCKED';
      throw error;
    });
  const finding = await findingOf(url.host, look);
  if (finding.status !== 'ok') return { origin, finding, isBlocked };
  return { origin, finding, clockDifferenceMs: await readServerTime(url, options).catch(() => undefined) };
}

/** Connects as the sender does: same guard, proxy, authorities and protocols. */
async function connectTo(url: URL, options: NetworkOptions): Promise<Outcome> {
  const { pushServices = [], ca, proxy, noProxy, resolve, connectOverride } = options;
  const { connectTimeoutMs = defaultTimeouts.connectTimeoutMs } = options;
  const { isNamedOrigin, isUnlisted } = createEndpointPolicy(pushServices);
  const settings: ConnectSettings = {
    trust: createTrust(ca),
    connectTimeoutMs,
    startTimer: systemClock.startTimer,
    resolve,
    connectOverride,
    proxy: proxy === undefined ? undefined : parseProxy(proxy),
    noProxy,
    isNamedOrigin,
    isUnlisted,
    addressPolicy: createAddressPolicy(options),
  };
  const startedMs = performance.now();
  const { socket, protocol } = await connect(url, settings, new AbortController().signal);
  const tls = url.protocol === 'https:' ? `${(socket as TLSSocket).getProtocol()}, ` : '';
  socket.destroy();
  const tookMs = Math.round(performance.now() - startedMs);
  return ok(`${tls}${protocol}, connected in ${tookMs} ms`);
}

/** @returns their clock minus ours, in milliseconds; `undefined` if the answer has no date */
async function readServerTime(url: URL, options: NetworkOptions): Promise<number | undefined> {
  const { now = Date.now, connectTimeoutMs = defaultTimeouts.connectTimeoutMs } = options;
  const signal = AbortSignal.timeout(connectTimeoutMs);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const asked = request(url, { method: 'HEAD', signal, ...(await wayTo(url, options)) });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  const theirMs = Date.parse(response.headers.date ?? '');
  return Number.isNaN(theirMs) ? undefined : theirMs - now();
}

async function wayTo(url: URL, { ca, proxy, noProxy, connectOverride }: NetworkOptions): Promise<object> {
  const secureContext = createTrust(ca)();
  const override = connectOverride?.(url.origin);
  if (override !== undefined) {
    return { hostname: override.host, port: override.port, servername: url.hostname, secureContext };
  }
  if (proxy === undefined || isProxyBypassed(url.hostname, noProxy)) return { secureContext };
  const { HttpsProxyAgent } = await import('https-proxy-agent');
  return { agent: new HttpsProxyAgent(proxy), secureContext };
}
