// Third step of a message's path: gives a request to the transport and interprets the result.
import type { DeskbellError } from '../../errors/deskbell-error.ts';
import type { EndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { type Outcome, type PushResponse, readFailure } from '../../protocol/outcome.ts';
import type { PushRequest, Sending, Transport, TransportResult } from '../../transport/transport.ts';
import type { ClockCheck } from '../reports/clock-check.ts';
import type { NotSent } from '../limits/not-sent.ts';

/** A message was posted, or a connection for it could not be made. */
export interface Posted {
  readonly kind: 'posted';
  readonly outcome: Outcome;
  /** Absent if no answer came; `error` says why. */
  readonly response?: PushResponse | undefined;
  readonly error?: DeskbellError | undefined;
}

/** The result of one message: its meaning and the push service's response, if there was one. */
export interface SendResult {
  readonly outcome: Outcome;
  /** The push service's answer; `undefined` if none came, and then `error` or the outcome's detail says why. */
  readonly response: PushResponse | undefined;
  /** The fault of network, TLS, time limit or address that caused there to be no answer. */
  readonly error?: DeskbellError;
}

export type Result = Posted | NotSent;

/** `done` is called exactly once, never before it returns. */
export type Post = (request: PushRequest, done: (result: Result) => void, timeoutMs?: number) => Sending;

/** @param now in milliseconds since 1970 */
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

/** A fault on the way never ends a subscription. */
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
