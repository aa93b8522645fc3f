// Formats the error of a command as one line, with what was wrong, the remedy and the error code, and chooses the exit
// code. The stack trace is printed only on request (--debug).
import type { ErrorCode } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { hidePasswords } from '../../errors/untrusted-text.ts';

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const;

const wrongUsageCodes: ReadonlySet<ErrorCode> = new Set(['ERR_USAGE', 'ERR_CONFIGURATION']);

/** Explanations of the operating system's error codes. */
const systemErrors: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the address is already in use by another program',
  EADDRNOTAVAIL: 'this machine has no such address',
  EEXIST: 'a file with this name exists already',
  EISDIR: 'it is a directory',
  ENOENT: 'no such file or directory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'part of the path is not a directory',
  ENXIO: 'no program reads from it',
  ENOTFOUND: 'no such host',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
};

/** @returns one line without a newline, or the stack trace if `debug` */
export function formatError(error: unknown, { debug = false }: { readonly debug?: boolean } = {}): string {
  const fault = asDeskbellError(error);
  if (debug) return hidePasswords(`deskbell: ${fault.stack}${causesOf(fault)}`);
  const message = describeError(fault);
  const { remedy } = fault;
  const isNamed = message.includes(remedy.replace(/\.$/, ''));
  return oneLine(`deskbell: ${message}.${isNamed ? '' : ` ${remedy}`} [${fault.code}]`);
}

/** Says what was wrong, without the remedy, the code or a full stop. */
export function describeError(error: unknown): string {
  const fault = asDeskbellError(error);
  const reason = reasonOf(fault.cause);
  return fault.message.replace(/\.$/, '') + (reason === undefined ? '' : `: ${reason}`);
}

export const exitCodeOf = (error: unknown): number =>
  wrongUsageCodes.has(asDeskbellError(error).code) ? exitCodes.wrongUsage : exitCodes.failed;

/** Wraps errors of other kinds in a `DeskbellError`. */
function asDeskbellError(error: unknown): DeskbellError {
  if (error instanceof DeskbellError) return error;
  if (!Error.isError(error)) return new DeskbellError('ERR_COMMAND', String(error));
  if (!isSystemError(error)) return new DeskbellError('ERR_COMMAND', error.message, { cause: error });
  const { path, syscall } = error;
  const message = path === undefined ? `The system call ${syscall} failed` : `${path} cannot be used`;
  return new DeskbellError('ERR_FILE', message, { cause: error });
}

function reasonOf(cause: unknown): string | undefined {
  return isSystemError(cause) ? (systemErrors[cause.code] ?? cause.message) : undefined;
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException & { readonly code: string } =>
  Error.isError(error) && 'syscall' in error && 'code' in error;

function causesOf({ cause }: Error): string {
  return Error.isError(cause) ? `\ncaused by ${cause.stack}${causesOf(cause)}` : '';
}

const oneLine = (message: string): string => message.replaceAll(/\s*\n\s*/g, ' ');
