// Logs messages on request. A record has the subscription and the result, but neither content nor endpoint.
import { checkOptions, isFunction, mustBe, type OptionCheck } from '../../errors/check-options.ts';
import type { Outcome, PushResponse } from '../../protocol/outcome.ts';
import { type AttemptOutcome } from '../../store/attempts.ts';
import { outcomeOf } from '../../store/attempt-sets.ts';
import type { RowRecord, RowResult } from '../../store/ledger.ts';

/** `failed` logs messages that were not accepted, once for each attempt. */
export const loggedMessages = ['failed', 'all'] as const;

/** The result of a message. */
export interface MessageRecord {
  /** Absent for a single message. */
  readonly broadcastId?: number | undefined;
  /** Absent if the subscription is not stored. */
  readonly subscriptionId?: number | undefined;
  readonly pushService: string;
  readonly outcome: AttemptOutcome;
  /** The attempt, from 1. If nothing was sent: the number of earlier attempts. Always 1 for a single message. */
  readonly attempt: number;
  /** HTTP status; absent if there was no response. */
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
}

/** Which messages to log, and how. */
export interface MessageLog {
  readonly of: (typeof loggedMessages)[number];
  /** Called with the messages of one commit of a broadcast, or with a single message. */
  write(records: readonly MessageRecord[]): void;
}

/** @throws {DeskbellError} ERR_CONFIGURATION */
export const checkMessageLog: OptionCheck = (value, name) =>
  checkOptions<MessageLog>(
    value,
    {
      of: mustBe(`one of ${loggedMessages.join(', ')}`, (given) =>
        (loggedMessages as readonly unknown[]).includes(given),
      ),
      write: isFunction,
    },
    { name, required: ['of', 'write'] },
  );

export function logRows(log: MessageLog, broadcastId: number, rows: readonly RowResult[]): void {
  const records = rows.flatMap((row): readonly MessageRecord[] => {
    const outcome = outcomeOf(row);
    if (outcome === undefined || (log.of === 'failed' && outcome === 'accepted')) return [];
    const { recipient, origin: pushService, attempts, record = {} } = row;
    const { attempt = attempts, status, reason }: Partial<RowRecord> = record;
    const { subscriptionId } = recipient;
    return [{ broadcastId, subscriptionId, pushService, outcome, attempt, status, reason }];
  });
  if (records.length > 0) log.write(records);
}

export function logMessage(
  log: MessageLog,
  pushService: string,
  subscriptionId: number | undefined,
  { outcome, response }: { readonly outcome: Outcome; readonly response?: PushResponse | undefined },
): void {
  if (log.of === 'failed' && outcome.kind === 'accepted') return;
  const reason = 'reason' in outcome ? outcome.reason : undefined;
  log.write([
    { subscriptionId, pushService, outcome: outcome.kind, attempt: 1, status: response?.status, reason },
  ]);
}
