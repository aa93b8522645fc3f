// What works on the file of the embedded database only.
import { DeskbellError } from '../../errors/deskbell-error.ts';

/** @throws {DeskbellError} ERR_CONFIGURATION where the data are in PostgreSQL */
export function requireSqlite(database: string | undefined, tool: 'pg_dump' | 'pg_restore'): void {
  if (database === undefined) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `This command is for the SQLite file of a data directory, and "database" is set. Use ${tool} for PostgreSQL, and copy ` +
      'the key files of the data directory',
  );
}
