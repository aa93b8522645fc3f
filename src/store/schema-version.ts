// Which version the tables of a database have, and which versions this Deskbell can bring to its own.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** The version that `schema.sql` makes; each migration adds 1. Databases with a lower version are of commits before 1.0.0. */
const firstVersion = 1000;

export const newestVersion = (migrations: readonly string[]): number => firstVersion + migrations.length;

/** The version that the next of `sqlAfter` makes. */
export const versionAfter = (version: number): number => (version === 0 ? firstVersion : version + 1);

/** What brings tables of a version to the newest. @param version 0: there are no tables */
export const sqlAfter = (version: number, schema: string, migrations: readonly string[]): readonly string[] =>
  version === 0 ? [schema, ...migrations] : migrations.slice(version - firstVersion);

/**
 * @param version 0: there are no tables
 * @throws {DeskbellError} ERR_STORE_TOO_NEW, ERR_STORE_TOO_OLD
 */
export function checkVersion(version: number, newest: number, label: string): number {
  if (version > newest) {
    throw new DeskbellError(
      'ERR_STORE_TOO_NEW',
      `The database ${label} has schema ${version}; this Deskbell knows schemas up to ${newest}.`,
    );
  }
  if (version > 0 && version < firstVersion) {
    throw new DeskbellError(
      'ERR_STORE_TOO_OLD',
      `The database ${label} has schema ${version}, of a Deskbell before 1.0.0.`,
    );
  }
  return version;
}
