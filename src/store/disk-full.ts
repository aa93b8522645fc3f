// What a store throws when the disk of its database is full: the same write succeeds once there is room.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** Made where a database's own codes are read, in `database-errors.ts` of each. */
export class DiskFullError extends DeskbellError {
  constructor(database: string, cause: unknown) {
    const detail = `The database ${database} cannot grow: its disk is full; nothing was stored.`;
    super('ERR_STORE_UNAVAILABLE', detail, { cause });
  }
}
