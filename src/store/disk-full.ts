// The error of a store whose disk is full: the same write succeeds once there is room.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** Thrown by `database-errors.ts` of each database. */
export class DiskFullError extends DeskbellError {
  constructor(database: string, cause: unknown) {
    const detail = `The database ${database} cannot grow: its disk is full; nothing was stored.`;
    super('ERR_STORE_UNAVAILABLE', detail, { cause });
  }
}
