// A message that no push service has accepted, and some may accept later: whoever sends it has to repeat the request.
import { ProblemError } from '../http/problem.ts';
import type { SentMessages } from './send-message.ts';

/** Its problem has what became of the message in `items`. */
export class UndeliveredError extends ProblemError {
  readonly isInDoubt: boolean;
  /** The shortest time that a push service asks to wait, if any does. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ items, isInDoubt }: SentMessages) {
    super('ERR_MESSAGE_RETRY', 'No push service has accepted the message yet.', { items });
    this.isInDoubt = isInDoubt;
    const seconds = items.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
    this.retryAfterSeconds = seconds.length === 0 ? undefined : Math.min(...seconds);
  }
}

/** @throws {UndeliveredError} none is accepted, and one may be accepted later */
export function assertNoRetry(sent: SentMessages): void {
  const outcomes = new Set(sent.items.map(({ outcome }) => outcome));
  if (outcomes.has('retry') && !outcomes.has('accepted')) throw new UndeliveredError(sent);
}
