// A store for workers that waits while its disk is full: a worker's writes are made once there is room, and until then it takes no new
// work. It keeps what it has sent, so nothing is repeated.
import { DiskFullError } from '../../store/database-content.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../transport/clock.ts';

export const tryAgainAfterMs = 1000;

export interface WaitOptions {
  readonly clock: Pick<Clock, 'startTimer'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called once when it begins to wait, and once when it continues. */
  readonly onWarning: (warning: string) => void;
  /** Ends the wait; the pending write is thrown. */
  readonly signal: AbortSignal;
}

export function waitForDiskSpace(
  { leases, ledger, rates }: Pick<Store, 'leases' | 'ledger' | 'rates'>,
  { clock, now, onWarning, signal }: WaitOptions,
): Pick<Store, 'leases' | 'ledger' | 'rates'> {
  let isWaiting = false;

  const patiently = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    for (;;) {
      try {
        const result = await write();
        if (isWaiting)
          onWarning(`The disk of the database has free space again: sending continues (${minute(now())}).`);
        isWaiting = false;
        return result;
      } catch (error) {
        if (!(error instanceof DiskFullError) || signal.aborted) throw error;
        if (!isWaiting) {
          onWarning(`The disk of the database is full: sending waits for free space (${minute(now())}).`);
        }
        isWaiting = true;
      }
      await pause(clock, signal);
    }
  };

  return {
    leases: {
      leaseSlice: (request) => patiently(() => leases.leaseSlice(request)),
      leaseRetries: (request) => patiently(() => leases.leaseRetries(request)),
      renew: (lease, leaseMs) => patiently(() => leases.renew(lease, leaseMs)),
      release: (lease) => patiently(() => leases.release(lease)),
      waitForWork: (request) => leases.waitForWork(request),
    },
    ledger: {
      commit: (page) => patiently(() => ledger.commit(page)),
      recordAnswers: (answers) => patiently(() => ledger.recordAnswers(answers)),
      readRows: (...range) => patiently(() => ledger.readRows(...range)),
      pushServices: () => ledger.pushServices(),
    },
    rates: { take: (request) => patiently(() => rates.take(request)) },
  };
}

function pause({ startTimer }: Pick<Clock, 'startTimer'>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = startTimer(end, tryAgainAfterMs, true);
    signal.addEventListener('abort', end);
  });
}

/** All threads usually meet it in the same minute, so equal warnings are reported once. */
const minute = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 16)}Z`;
