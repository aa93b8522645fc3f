// How a command that fails says so: one line on standard error with what was wrong, the remedy and the code, and
// the exit code. A stack trace is shown only where it was asked for (--debug).
import { catalogue, type ErrorCode } from '../errors/catalogue.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const;

const wrongUsageCodes: ReadonlySet<ErrorCode> = new Set(['ERR_USAGE', 'ERR_CONFIGURATION']);

/** What the system says in a word, in words that a person can act upon. */
const systemFaults: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'another program listens there already',
  EADDRNOTAVAIL: 'this machine has no such address',
  EISDIR: 'it is a folder',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'part of the path is not a folder',
  ENOTFOUND: 'there is no such host',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
};

/** @returns one line without its newline, or the stack trace where `debug` */
export function describeFailure(
  error: unknown,
  { debug = false }: { readonly debug?: boolean } = {},
): string {
  const fault = asDeskbellError(error);
  if (debug) return `deskbell: ${fault.stack}${causesOf(fault)}`;
  const reason = reasonOf(fault.cause);
  const message = fault.message.replace(/\.$/, '') + (reason === undefined ? '' : `: ${reason}`);
  return oneLine(`deskbell: ${message}. ${catalogue[fault.code].remedy} [${fault.code}]`);
}

export const exitCodeOf = (error: unknown): number =>
  wrongUsageCodes.has(asDeskbellError(error).code) ? exitCodes.wrongUsage : exitCodes.failed;

/** Faults of the system that nobody has put into words of ours, and faults of the command itself. */
function asDeskbellError(error: unknown): DeskbellError {
  if (error instanceof DeskbellError) return error;
  if (!(error instanceof Error)) return new DeskbellError('ERR_COMMAND', String(error));
  const { path = 'a file or a connection' } = error as NodeJS.ErrnoException;
  return isSystemError(error)
    ? new DeskbellError('ERR_FILE', `The system refuses ${path}`, { cause: error })
    : new DeskbellError('ERR_COMMAND', error.message, { cause: error });
}

function reasonOf(cause: unknown): string | undefined {
  return isSystemError(cause) ? (systemFaults[cause.code] ?? cause.message) : undefined;
}

const isSystemError = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'syscall' in error && 'code' in error;

function causesOf({ cause }: Error): string {
  return cause instanceof Error ? `\ncaused by ${cause.stack}${causesOf(cause)}` : '';
}

const oneLine = (message: string): string => message.replaceAll(/\s*\n\s*/g, ' ');
