// Third step of a message's path: gives the request to the transport and interprets the result.
import type { DeskbellError } from '../../errors/deskbell-error.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { type Outcome, type PushResponse, readFailure } from '../../protocol/outcome.ts';
import type { PushRequest, Sending, Transport, TransportResult } from '../../transport/transport.ts';
import type { ClockCheck } from '../reports/clock-check.ts';
import type { NotSent } from '../limits/not-sent.ts';

/** The message was posted, or posting failed because no connection could be made. */
export interface Posted {
  readonly kind: 'posted';
  readonly outcome: Outcome;
  /** Absent if there was no response; `error` then says why. */
  readonly response?: PushResponse | undefined;
  readonly error?: DeskbellError | undefined;
}

/** The result of sending one message: the outcome, and the push service's response if there was one. */
export interface SendResult {
  readonly outcome: Outcome;
  /** `undefined` if the push service did not respond. Then `error` or the outcome's detail says why. */
  readonly response: PushResponse | undefined;
  /** Why there was no response: network, TLS, time limit or address. */
  readonly error?: DeskbellError;
}

export type Result = Posted | NotSent;

/** Posts a request. `done` is called exactly once, never before the function returns. */
export type Post = (request: PushRequest, done: (result: Result) => void, timeoutMs?: number) => Sending;

/** @param now returns milliseconds since 1970 */
export function createPost(
  transport: Transport,
  now: () => number,
  clockCheck: ClockCheck,
  { isUnlisted }: Pick<EndpointPolicy, 'isUnlisted'>,
): Post {
  return (request, done, timeoutMs) => {
    const report = (result: TransportResult): void => {
      if (result.kind === 'response') clockCheck.look(request.origin, result.response, now());
      done(readResult(result, result.kind === 'failure' && isUnlisted(request.origin)));
    };
    return transport.send(request, report, timeoutMs);
  };
}

/** Interprets a result. A fault of the network never ends a subscription. */
function readResult(result: TransportResult, isUnlisted: boolean): Result {
  switch (result.kind) {
    case 'response':
      return { kind: 'posted', outcome: result.outcome, response: result.response };
    case 'deferred': {
      const { retryAfterMs: afterMs, reason: detail, obstacle } = result;
      return { kind: 'deferred', afterMs, detail, obstacle };
    }
    case 'failure': {
      const { error, inDoubt } = result;
      return { kind: 'posted', outcome: readFailure(error, inDoubt, isUnlisted), error };
    }
  }
}
