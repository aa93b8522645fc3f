// What `deskbell send` prints for one subscription: one line with the outcome.
import type { SendResult } from '../../delivery/sender.ts';
import type { StoredSubscription } from '../../store/subscriptions.ts';
import type { Outcome } from '../../protocol/outcome.ts';
import { sentMessageToJson } from '../../views/sent-message.ts';
import type { Output } from '../output/output.ts';

const colours = { accepted: 'green', gone: 'yellow', retry: 'yellow', rejected: 'red' } as const;

export function printSendResult(
  output: Output,
  { id, endpoint }: StoredSubscription,
  result: SendResult,
  { json }: { readonly json: boolean },
): Promise<void> {
  if (json) return output.line(JSON.stringify(sentMessageToJson(id, endpoint, result)));
  const { outcome, response } = result;
  const parts = [new URL(endpoint).origin, response?.status, ...reasonsOf(outcome)].filter(
    (part) => part !== undefined,
  );
  const kind = output.style(colours[outcome.kind], outcome.kind.padEnd(8));
  return output.line(`${kind} ${String(id).padStart(6)}  ${parts.join('  ')}`);
}

function reasonsOf(outcome: Outcome): readonly (string | undefined)[] {
  switch (outcome.kind) {
    case 'accepted':
      return [];
    case 'gone':
      return ['removed', outcome.detail];
    case 'retry':
      return [
        outcome.reason,
        outcome.detail,
        outcome.afterMs === undefined ? undefined : `try again in ${Math.ceil(outcome.afterMs / 1000)} s`,
      ];
    case 'rejected':
      return [outcome.reason, outcome.detail];
  }
}
