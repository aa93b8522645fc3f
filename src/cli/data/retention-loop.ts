// Deletes data that is older than the configured limits, at the start and then every hour, as long as the process runs.
import { setTimeout as sleep } from 'node:timers/promises';
import type { RetentionLimits } from '../../store/retention.ts';
import { maxCapWindowMs } from '../../audience/frequency-cap.ts';
import type { Store } from '../../store/store.ts';
import type { Configuration, retentionSettings } from '../configuration/configuration.ts';

type RetentionConfiguration = Pick<Configuration, (typeof retentionSettings)[number]>;

const everyMs = 60 * 60 * 1000;
/** Pause between two steps, so that other writers get their turn. */
const pauseMs = 20;
const dayMs = 24 * 60 * 60 * 1000;

/** Runs `work`, and applies retention until it ends. @param onError called if a step fails; it is tried again later */
export async function withRetention(
  store: Pick<Store, 'retention' | 'now'>,
  configuration: RetentionConfiguration,
  onError: (error: unknown) => void,
  work: () => Promise<void>,
): Promise<void> {
  const ended = new AbortController();
  const keeping = keepUntil(ended.signal, store, configuration, onError);
  try {
    await work();
  } finally {
    ended.abort();
    await keeping;
  }
}

async function keepUntil(
  signal: AbortSignal,
  { retention, now }: Pick<Store, 'retention' | 'now'>,
  configuration: RetentionConfiguration,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    const limits = limitsAt(now(), configuration);
    try {
      while (!signal.aborted && (await retention.prune(limits))) await sleep(pauseMs);
      while (!signal.aborted && (await retention.shrink())) await sleep(pauseMs);
    } catch (error) {
      onError(error);
    }
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

function limitsAt(
  nowMs: number,
  { keepBroadcastsDays, keepAttemptsDays, keepAuditDays }: RetentionConfiguration,
): RetentionLimits {
  const before = (days: number | 'forever'): number | undefined =>
    days === 'forever' ? undefined : nowMs - days * dayMs;
  return {
    broadcastsBeforeMs: before(keepBroadcastsDays),
    attemptsBeforeMs: before(keepAttemptsDays),
    auditBeforeMs: before(keepAuditDays),
    contactsBeforeMs: nowMs - maxCapWindowMs,
  };
}
