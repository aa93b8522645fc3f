// What every command is handed: the world outside, so that nothing below main.ts reads `process` by itself.
import type { Readable } from 'node:stream';
import type { Output } from './output.ts';

export interface Context {
  /** What to type into another terminal for this command, such as `npx deskbell`. */
  readonly invocation: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly input: Readable;
  readonly output: Output;
  /** Aborted by SIGINT and SIGTERM, and when nobody reads standard output any longer: end cleanly, soon. */
  readonly stop: AbortSignal;
}
