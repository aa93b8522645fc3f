// The file that log records are appended to. Records of registrations hold endpoints and keys, so strangers on the same
// machine must not read it.
import { closeSync, constants, fchmodSync, fstatSync, openSync } from 'node:fs';

import { DeskbellError } from '../errors/deskbell-error.ts';

const ownerOnly = 0o600;
const othersMask = 0o007;

/**
 * Opens `path` to append to it. A new file is readable by its owner only. Other users lose every right to an existing one; its group
 * keeps what it has.
 *
 * @throws {DeskbellError} ERR_FILE
 */
export function openLogFile(path: string): number {
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
  let fd: number | undefined;
  try {
    // Without O_NONBLOCK, a pipe that nobody reads would block the process here.
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
