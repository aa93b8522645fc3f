// Connects one run of the command line with the process: signals, streams, exit code.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { formatError, exitCodes } from './output/failure.ts';
import { invocationOf } from './output/invocation.ts';
import { createOutput } from './output/output.ts';
import { runCommandLine } from './program.ts';

/** Runs the command line that this process was started with. */
export async function runProcess(): Promise<void> {
  const stop = new AbortController();
  const closed = new AbortController();

  const interrupt = (signal: NodeJS.Signals): void =>
    stop.abort(new DeskbellError('ERR_INTERRUPTED', `Interrupted by ${signal}`));

  // Once: a second signal ends the process immediately, which is what the system does by default.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  let onHangup = (): void => interrupt('SIGHUP');
  process.on('SIGHUP', () => onHangup());

  const output = createOutput(process, (cause) => {
    const fault = new DeskbellError('ERR_OUTPUT', 'Standard output cannot be written', { cause });
    // A reader that has read enough (`… | head`) is not an error.
    if (cause.code !== 'EPIPE') {
      output.diagnostic(formatError(fault));
      process.exitCode = exitCodes.failed;
    }
    closed.abort(fault);
  });

  const exitCode = await runCommandLine(process.argv.slice(2), {
    invocation: invocationOf(process.argv, process.cwd()),
    environment: process.env,
    input: process.stdin,
    output,
    stop: stop.signal,
    stopPrinting: AbortSignal.any([stop.signal, closed.signal]),
    onHangup: (listener) => (onHangup = listener),
  });
  process.exitCode ||= exitCode;
}
