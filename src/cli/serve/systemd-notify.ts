// Tells systemd that the process is ready, that it still runs, and that it stops (sd_notify, Type=notify). The socket for
// it is a datagram socket, which Node has none of, so systemd's own program writes to it: the unit needs NotifyAccess=all.
// A process that does not run under systemd tells nobody.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Context } from '../context.ts';
import { describeError } from '../output/failure.ts';

const execute = promisify(execFile);

/** @param onError told, once, why systemd cannot be told */
export async function underSystemd(
  { environment, stop }: Pick<Context, 'environment' | 'stop'>,
  onError: (reason: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  if (environment['NOTIFY_SOCKET'] === undefined) return work();
  let hasFailed = false;
  const notify = async (...words: readonly string[]): Promise<void> => {
    try {
      await execute('systemd-notify', words, { env: { ...environment } });
    } catch (error) {
      if (!hasFailed) onError(`systemd cannot be told how this process is: ${describeError(error)}`);
      hasFailed = true;
    }
  };
  await notify('--ready', `MAINPID=${process.pid}`);
  const watchdogMs = Number(environment['WATCHDOG_USEC'] ?? 0) / 1000;
  // a third, so that one that comes late is no reason to restart
  const alive = watchdogMs > 0 ? setInterval(() => void notify('WATCHDOG=1'), watchdogMs / 3) : undefined;
  let stopping: Promise<void> | undefined;
  stop.addEventListener('abort', () => (stopping = notify('STOPPING=1')), { once: true });
  try {
    await work();
  } finally {
    clearInterval(alive);
    await stopping;
  }
}
