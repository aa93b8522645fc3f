// Sends through a transport as tests want it: one request as a promise, or many with a bounded number in hand.
import type { PushHeaders, PushRequest, Transport, TransportResult } from '../../src/transport/transport.ts';

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
  count: number,
  inHand: number,
  request: (index: number) => PushRequest,
): Promise<TransportResult[]> {
  const results: TransportResult[] = [];
  let next = 0;
  let ended = 0;
  await new Promise<void>((resolve) => {
    const sendNext = (): void => {
      const index = next;
      if (index >= count) return;
      next += 1;
      transport.send(request(index), (result) => {
        results[index] = result;
        ended += 1;
        if (ended === count) resolve();
        else sendNext();
      });
    };
    for (let index = 0; index < inHand; index += 1) sendNext();
  });
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
  return result.inDoubt ? `${result.error.code} in doubt` : result.error.code;
}
