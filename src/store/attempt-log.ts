// The attempt log: how much it keeps, which is bounded, whatever is sent, and what is read of it.
import type { BroadcastStore } from './broadcasts.ts';
import type { PortableDatabase, PortableValue } from './portable-sql.ts';

export const attemptLogLimits = {
  maxAcceptedPerBroadcast: 1000,
  maxOthersPerBroadcast: 10_000,
  /** The newest broadcasts; of older ones, no attempts are kept. */
  maxLoggedBroadcasts: 100,
} as const;

interface AttemptRow {
  readonly id: number;
  readonly broadcast_id: number;
  readonly subscription_id: number | null;
  readonly at_ms: number;
  readonly origin: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly reason: string | null;
  readonly detail: string | null;
}

const conditions = {
  broadcastId: 'broadcast_id = :broadcastId',
  subscriptionId: 'subscription_id = :subscriptionId',
  outcome: 'outcome = :outcome',
  beforeId: 'id < :beforeId',
} as const;

export async function findAttempts(
  database: PortableDatabase,
  { limit, ...filter }: Parameters<BroadcastStore['attempts']>[0],
): ReturnType<BroadcastStore['attempts']> {
  const values: Record<string, PortableValue> = { limit };
  const where = ['true'];
  for (const [name, condition] of Object.entries(conditions)) {
    const value = filter[name as keyof typeof conditions];
    if (value === undefined) continue;
    where.push(condition);
    values[name] = value;
  }
  const rows = await database.read<AttemptRow>(
    `select * from deskbell.attempts where ${where.join(' and ')} order by id desc limit :limit`,
    values,
  );
  return rows.map((row) => ({
    id: row.id,
    broadcastId: row.broadcast_id,
    subscriptionId: row.subscription_id ?? undefined,
    atMs: row.at_ms,
    origin: row.origin,
    attempt: row.attempt,
    outcome: row.outcome,
    status: row.status ?? undefined,
    reason: row.reason ?? undefined,
    detail: row.detail ?? undefined,
  }));
}
