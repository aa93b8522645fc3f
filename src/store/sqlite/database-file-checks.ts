// What a file must be before it is used as a database, or as the log or index beside one.
import { statSync } from 'node:fs';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { assertOwned, fileKind, formatMode, isOpenToOthers } from '../../keys/private-file.ts';

/** A FIFO would be waited for. @throws {DeskbellError} ERR_STORE_CORRUPT */
export function assertRegular(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return;
  throw new DeskbellError('ERR_STORE_CORRUPT', `${file} is ${fileKind(stats)}, and must be a regular file.`);
}

/** The rows hold capabilities (endpoint, `auth`). @throws {DeskbellError} ERR_DATA_EXPOSED, ERR_DATA_OWNER */
export function assertPrivate(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return;
  assertOwned(file, stats);
  if (!isOpenToOthers(file, stats)) return;
  throw new DeskbellError(
    'ERR_DATA_EXPOSED',
    `The database file ${file} has mode ${formatMode(stats)}, so that others on this machine can use it; it must be 0600.`,
  );
}

/** SQLite takes zero bytes for an empty database. @throws {DeskbellError} ERR_STORE_CORRUPT */
export function assertNotEmpty(file: string): void {
  if (statSync(file).size > 0) return;
  throw new DeskbellError(
    'ERR_STORE_CORRUPT',
    `The database ${file} has zero bytes: it was emptied, and its subscriptions are lost. Restore it from a backup; ` +
      'to begin with an empty database, delete the file.',
  );
}
