// Sends through a transport as tests want it: one request as a promise, or many with a bounded number in hand.
import {
  createTransport,
  type Transport,
  type TransportRules,
} from '../../src/transport/create-transport.ts';
import type {
  PushHeaders,
  PushRequest,
  TransportOptions,
  TransportResult,
} from '../../src/transport/transport.ts';
import { certificate, type Peer } from './peers.ts';

/** A transport that trusts the servers of `peers.ts`, until the end of its block. */
export function openTransport(
  options: TransportOptions,
  rules?: TransportRules,
): Transport & AsyncDisposable {
  const transport = createTransport({ ca: [certificate.cert], ...options }, rules);
  return { ...transport, [Symbol.asyncDispose]: () => transport.close(0) };
}

/** A server with a transport to it; both are closed with their block. */
export function openPeer<T extends Peer>(peer: T, options: TransportOptions = {}, rules?: TransportRules) {
  const { origin } = peer;
  const transport = openTransport({ pushServices: [origin], ...options }, rules);
  return {
    ...peer,
    transport,
    /** What one request gets, as `describe` says it. */
    send: async () => describe(await sendOne(transport, origin)),
    sendOne: (request?: Partial<PushRequest>) => sendOne(transport, origin, request),
    sendMany: (count: number, inHand: number, request?: (index: number) => Partial<PushRequest>) =>
      sendMany(transport, origin, count, inHand, request),
    async [Symbol.asyncDispose]() {
      await transport.close(0);
      await peer.close();
    },
  };
}

/** What every push request of a broadcast has in common. */
export const pushHeaders: PushHeaders = {
  ttl: '2419200',
  urgency: 'normal',
  'content-encoding': 'aes128gcm',
  'content-type': 'application/octet-stream',
  authorization: `vapid t=${'e'.repeat(240)}, k=${'B'.repeat(87)}`,
};

export const pushBody = Buffer.alloc(320, 0xa5);

export function sendOne(
  transport: Transport,
  origin: string,
  request: Partial<PushRequest> = {},
): Promise<TransportResult> {
  const whole = { origin, path: '/wpush/v2/x', headers: pushHeaders, body: pushBody, ...request };
  return new Promise((resolve) => transport.send(whole, resolve));
}

/** Sends `count` requests, `inHand` at a time, and returns all results in the order of the requests. */
export async function sendMany(
  transport: Transport,
  origin: string,
  count: number,
  inHand: number,
  request?: (index: number) => Partial<PushRequest>,
): Promise<TransportResult[]> {
  const results: TransportResult[] = [];
  let next = 0;
  const sendInTurn = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      results[index] = await sendOne(transport, origin, request?.(index));
    }
  };
  await Promise.all(Array.from({ length: inHand }, sendInTurn));
  return results;
}

/** How often each kind of result came: `201`, `ERR_TIMEOUT`, `ERR_CONNECTION in doubt`, `deferred`. */
export function tally(results: readonly TransportResult[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const result of results) {
    const key = describe(result);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

export function describe(result: TransportResult): string {
  if (result.kind === 'response') return String(result.response.status);
  if (result.kind === 'deferred') return 'deferred';
  const { error, outcome } = result;
  return 'isInDoubt' in outcome && outcome.isInDoubt ? `${error.code} in doubt` : error.code;
}
