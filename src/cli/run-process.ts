// Connects one run of the command line to the process: signals, streams, exit code.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { formatError, exitCodes } from './output/failure.ts';
import { invocationOf } from './output/command-hint.ts';
import { createOutput } from './output/output.ts';
import { runCommandLine } from './program.ts';

/** The parts of `process` that one run of the command line uses. */
export type Host = Pick<
  NodeJS.Process,
  'argv' | 'cwd' | 'env' | 'exitCode' | 'on' | 'once' | 'stderr' | 'stdin' | 'stdout'
>;

/** Runs the command line that this process was started with, and sets its exit code. */
export async function runProcess(host: Host = process): Promise<void> {
  const stop = new AbortController();
  const closed = new AbortController();

  const interrupt = (signal: NodeJS.Signals): void =>
    stop.abort(new DeskbellError('ERR_INTERRUPTED', `Interrupted by ${signal}`));

  // Only the first signal is handled. A second signal ends the process immediately, which is the system's default.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) host.once(signal, interrupt);
  let onHangup = (): void => interrupt('SIGHUP');
  host.on('SIGHUP', () => onHangup());

  const output = createOutput(host, (cause) => {
    const fault = new DeskbellError('ERR_OUTPUT', 'Standard output cannot be written', { cause });
    // It is not an error if the reader of the output stops early, as in `… | head`.
    if (cause.code !== 'EPIPE') {
      output.diagnostic(formatError(fault));
      host.exitCode = exitCodes.failed;
    }
    closed.abort(fault);
  });

  const exitCode = await runCommandLine(host.argv.slice(2), {
    invocation: invocationOf(host.argv, host.cwd()),
    environment: host.env,
    input: host.stdin,
    output,
    stop: stop.signal,
    stopPrinting: AbortSignal.any([stop.signal, closed.signal]),
    onHangup: (listener) => (onHangup = listener),
  });
  host.exitCode ||= exitCode;
}
