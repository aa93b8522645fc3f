// What came of one request, as an outcome: the push service's answer, or why there was none.
import type { TransportResult } from '../transport/transport.ts';
import { readResponse, type Outcome } from '../protocol/outcome.ts';

/**
 * Tells what a result of the transport means. Whatever goes wrong on the way never ends a subscription.
 *
 * @param origin of the endpoint that the message was meant for
 */
export function readResult(origin: string, result: TransportResult, nowMs: number): Outcome {
  if (result.kind === 'response') return readResponse(origin, result.response, { nowMs });
  if (result.kind === 'deferred') {
    const { retryAfterMs: afterMs, reason: detail } = result;
    return { kind: 'retry', reason: 'deferred', afterMs, slowsOrigin: true, detail };
  }
  const { error, inDoubt } = result;
  const detail = error.message;
  switch (error.code) {
    case 'ERR_ADDRESS_BLOCKED':
      return { kind: 'rejected', reason: 'address-blocked', scope: 'origin', isAlarm: true, detail };
    case 'ERR_CONNECTION':
    case 'ERR_TLS':
    case 'ERR_TIMEOUT':
    case 'ERR_CLOSED':
      return { kind: 'retry', reason: 'connection', slowsOrigin: false, isInDoubt: inDoubt, detail };
    default:
      return { kind: 'rejected', reason: 'bad-request', scope: 'message', isAlarm: true, detail };
  }
}
