// The row that says that a store does not send by itself, as both databases have it.
import type { PauseReason, SendingPause } from '../sending.ts';

export interface SendingPauseRow {
  readonly since_ms: number;
  readonly reason: PauseReason;
  /** JSON */
  readonly broadcast_ids: string;
}

export const toSendingPause = ({ since_ms, reason, broadcast_ids }: SendingPauseRow): SendingPause => ({
  sinceMs: since_ms,
  reason,
  broadcastIds: JSON.parse(broadcast_ids) as readonly number[],
});

/** What is added to a pause that may be there already. @returns the ids of all, as the row has them */
export const withBroadcasts = (known: SendingPauseRow | undefined, added: readonly number[]): string => {
  const former = known === undefined ? [] : toSendingPause(known).broadcastIds;
  return JSON.stringify([...new Set([...former, ...added])].sort((one, other) => one - other));
};
