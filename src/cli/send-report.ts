// What a `deskbell send` prints: one line per outcome as it comes, and the counts at the end.
import type { SendResult } from '../delivery/sender.ts';
import type { StoredSubscription } from '../store/store.ts';
import type { Outcome } from '../webpush/outcome.ts';
import type { Output } from './output.ts';

export type OutcomeCounts = Record<Outcome['kind'], number>;

export interface SendReport {
  readonly counts: Readonly<OutcomeCounts>;
  add(row: StoredSubscription, result: SendResult): Promise<void>;
  /** Prints the counts. */
  end(): Promise<void>;
}

const colours = { accepted: 'green', gone: 'yellow', retry: 'yellow', rejected: 'red' } as const;

export function createSendReport(output: Output, { json }: { readonly json: boolean }): SendReport {
  const counts: OutcomeCounts = { accepted: 0, gone: 0, retry: 0, rejected: 0 };
  return {
    counts,
    async add({ id, endpoint }, { outcome, response }) {
      counts[outcome.kind] += 1;
      const pushService = new URL(endpoint).origin;
      if (json) {
        // The message's URL is a capability, as the endpoint is: it stays with the library.
        const { kind, ...details } = { ...outcome, messageUrl: undefined };
        await output.line(
          JSON.stringify({ id, outcome: kind, pushService, status: response?.status, ...details }),
        );
        return;
      }
      const words = [pushService, response?.status, ...reasonsOf(outcome)].filter(
        (word) => word !== undefined,
      );
      await output.line(
        `${output.style(colours[outcome.kind], outcome.kind.padEnd(8))} ${String(id).padStart(6)}  ${words.join('  ')}`,
      );
    },
    async end() {
      if (json) return output.line(JSON.stringify({ counts }));
      const total = Object.values(counts).reduce((sum, count) => sum + count);
      const parts = Object.entries(counts).filter(([, count]) => count > 0);
      await output.line(
        total === 0
          ? 'Nobody has subscribed yet.'
          : `Sent to ${total}: ${parts.map(([kind, count]) => `${count} ${kind}`).join(', ')}.`,
      );
    },
  };
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
        outcome.afterMs === undefined ? undefined : `again in ${Math.ceil(outcome.afterMs / 1000)} s`,
      ];
    case 'rejected':
      return [outcome.reason, outcome.detail];
  }
}
