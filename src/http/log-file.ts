// The log file. Records of registrations have endpoints and keys, so other users must not read it.
import { closeSync, constants, fchmodSync, fstatSync, openSync } from 'node:fs';

import { DeskbellError } from '../errors/deskbell-error.ts';

const ownerOnly = 0o600;
const othersMask = 0o007;

/**
 * Opens a file for appending. A new file is readable only by its owner. Other users lose every right to an existing
 * one; its group keeps its rights.
 *
 * @throws {DeskbellError} ERR_FILE
 */
export function openLogFile(path: string): number {
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
  let fd: number | undefined;
  try {
    // Without O_NONBLOCK, a pipe without a reader would block the process here.
    fd = openSync(path, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, ownerOnly);
    const status = fstatSync(fd);
    if (status.isFile() && (status.mode & othersMask) !== 0)
      fchmodSync(fd, status.mode & 0o7777 & ~othersMask);
    return fd;
  } catch (cause) {
    if (fd !== undefined) closeSync(fd);
    const what =
      fd === undefined
        ? `The log file ${path} cannot be written`
        : `All users may read the log file ${path}, and that cannot be changed`;
    throw new DeskbellError('ERR_FILE', what, { cause });
  }
}
