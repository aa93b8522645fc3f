// Source and target of a copy: data directories, of which only the SQLite file is copied, and PostgreSQL databases.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { CopyDatabase } from '../../store/copy/copy-database.ts';
import { checkDatabaseUrl, describeDatabase } from '../../store/postgres/database-url.ts';
import { requireData, type DataSettings } from './open-data.ts';
import { databasePathOf, makeDirectory } from './data-directory.ts';

export interface CopyLocation {
  readonly kind: 'directory' | 'database';
  /** A path, or a URL including its password. */
  readonly text: string;
  /** Names the location in messages. */
  readonly label: string;
}

export type CopyLocations = ReturnType<typeof readCopyLocations>;

/**
 * If only a data directory is given, the other location is the configured database. If only a database is given, the
 * other is the configured data directory.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
export function readCopyLocations(
  given: { readonly from?: string | undefined; readonly to?: string | undefined },
  { data, database }: DataSettings,
) {
  const otherThan = (location: CopyLocation | undefined): CopyLocation => {
    if (location?.kind === 'database') return directory(data);
    if (database !== undefined) return toLocation('database', database);
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'There is no database to copy from or to: give it with --from or --to, or set "database"',
    );
  };
  const source = given.from === undefined ? undefined : toLocation('--from', given.from);
  const to = given.to === undefined ? otherThan(source) : toLocation('--to', given.to);
  const from = source ?? otherThan(to);
  if (from.label !== to.label) return { from, to };
  throw new DeskbellError('ERR_CONFIGURATION', `The source and the target are both ${from.label}`);
}

function toLocation(name: string, text: string): CopyLocation {
  if (!/^[a-z][a-z\d+.-]+:\/\//i.test(text)) return directory(text);
  try {
    checkDatabaseUrl(text);
  } catch (error) {
    if (!(error instanceof DeskbellError)) throw error;
    throw new DeskbellError(error.code, `${name}: ${error.message}`, { cause: error });
  }
  return { kind: 'database', text, label: describeDatabase(text) };
}

const directory = (path: string): CopyLocation => ({ kind: 'directory', text: path, label: resolve(path) });

/** @throws {DeskbellError} ERR_DATA_MISSING, ERR_COPY_SOURCE, ERR_STORE_IN_USE, and what opening a store throws */
export async function openCopySource({ kind, text }: CopyLocation): Promise<CopyDatabase> {
  if (kind === 'database') {
    const { openPostgresSource } = await import('../../store/copy/postgres-copy.ts');
    return openPostgresSource({ url: text });
  }
  await requireData(text);
  if (!existsSync(databasePathOf(text)))
    throw new DeskbellError('ERR_COPY_SOURCE', `The data directory ${text} has no database`);
  const { openSqliteSource } = await import('../../store/copy/sqlite-copy.ts');
  return openSqliteSource(databasePathOf(text));
}

/** @throws {DeskbellError} ERR_STORE_IN_USE, and what opening a store throws */
export async function openCopyTarget({ kind, text }: CopyLocation): Promise<CopyDatabase> {
  if (kind === 'database') {
    const { openPostgresTarget } = await import('../../store/copy/postgres-copy.ts');
    return openPostgresTarget({ url: text });
  }
  await makeDirectory(text);
  const { openSqliteTarget } = await import('../../store/copy/sqlite-copy.ts');
  return openSqliteTarget(databasePathOf(text));
}
