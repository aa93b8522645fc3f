// Restarts work after faults that pass: a full disk, a database that is away. What was not committed is taken up again.
import { setTimeout as sleep } from 'node:timers/promises';

const firstPauseMs = 1000;
const maxPauseMs = 60_000;

export interface RestartOptions {
  readonly stopped: AbortSignal;
  /** Called with each fault. */
  readonly onFault: (fault: unknown) => void;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
  readonly wait?: (ms: number) => Promise<void>;
}

/**
 * Restarts the work whenever it ends, until `stopped` is aborted. After a fault it waits for a second, doubled each time up to a minute;
 * once the work has lasted a minute, for a second again.
 */
export async function restartAfterFaults(
  work: () => Promise<void>,
  {
    stopped,
    onFault,
    nowMs = () => performance.now(),
    wait = (ms) => sleep(ms, undefined, { signal: stopped }).catch(() => {}),
  }: RestartOptions,
): Promise<void> {
  let pauseMs = firstPauseMs;
  while (!stopped.aborted) {
    const startedMs = nowMs();
    try {
      await work();
    } catch (fault) {
      onFault(fault);
      if (nowMs() - startedMs >= maxPauseMs) pauseMs = firstPauseMs;
      await wait(pauseMs);
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    }
  }
}
