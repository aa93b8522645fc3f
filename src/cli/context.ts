// What every command gets from the process, so that nothing else reads `process`.
import type { Readable } from 'node:stream';
import type { Output } from './output/output.ts';

export interface Context {
  /** How to run this command in another terminal, such as `npx deskbell`. */
  readonly invocation: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly input: Readable;
  readonly output: Output;
  /** Aborted by SIGINT, SIGTERM and SIGHUP: end cleanly and soon. */
  readonly stop: AbortSignal;
  /**
   * Aborted as `stop` is, and when standard output cannot be written any longer: for commands that do nothing but print. The work of
   * others goes on without what it prints.
   */
  readonly stopPrinting: AbortSignal;
  /** Calls `listener` on SIGHUP, which otherwise ends the command as SIGTERM does. */
  onHangup(listener: () => void): void;
}
