// What `deskbell send` prints for one subscription: one line with the outcome.
import type { SendResult } from '../../delivery/sender.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import { sentMessageToJson } from '../../operations/sent-message.ts';
import type { JsonFlag, Output } from '../output/output.ts';

const colours = { accepted: 'green', gone: 'yellow', retry: 'yellow', rejected: 'red' } as const;

export function printSendResult(
  output: Output,
  { id, endpoint }: StoredSubscription,
  result: SendResult,
  flags: JsonFlag,
): Promise<void> {
  const sent = sentMessageToJson(id, endpoint, result);
  const { pushService, outcome, status, reason, detail, retryAfterSeconds: seconds } = sent;
  const why = outcome === 'gone' ? 'removed' : reason;
  const later = seconds === undefined ? undefined : `try again in ${seconds} s`;
  const parts = [pushService, status, why, detail, later].filter((part) => part !== undefined);
  const kind = output.style(colours[outcome], outcome.padEnd(8));
  return output.result(flags, sent, `${kind} ${String(id).padStart(6)}  ${parts.join('  ')}`);
}
