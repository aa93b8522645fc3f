// What both databases have besides their tables: the schema version, the mark of an unfinished copy, and the error
// for a full disk.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { PortableDatabase } from './portable-sql.ts';
import { createSenders, createSending, type SendingPause } from './sending.ts';
import { createVapidKeys, type StoredVapidKey } from './vapid-keys.ts';

export interface DatabaseContent {
  readonly keys: readonly StoredVapidKey[];
  /** Number of subscriptions by VAPID key. */
  readonly subscriptions: ReadonlyMap<string, number>;
  /** `undefined` unless automatic sending is paused. */
  readonly pause: SendingPause | undefined;
  /** Number of running processes that deliver broadcasts. */
  readonly workers: number;
  /** Names of bells whose newest broadcast had no recipients. */
  readonly unheardBells: readonly string[];
}

const unheardBellsQuery = `
  select name from deskbell.bells b where (
    select c.audience from deskbell.bell_requests r join deskbell.broadcasts c on c.id = r.broadcast_id
    where r.bell_id = b.id and c.finished_at_ms is not null order by r.id desc limit 1
  ) = 0 order by name`;

/** @param database must have the newest schema */
export async function readContent(database: PortableDatabase): Promise<DatabaseContent> {
  const vapidKeys = createVapidKeys(database);
  const senders = await createSenders(database).list();
  const bells = await database.read<{ readonly name: string }>(unheardBellsQuery);
  return {
    keys: await vapidKeys.list(),
    subscriptions: await vapidKeys.countSubscriptions(),
    pause: await createSending(database).findPause(),
    workers: senders.filter(({ kind }) => kind === 'worker').length,
    unheardBells: bells.map(({ name }) => name),
  };
}

/** The state of a database, read without migrating it. */
export interface DatabaseState {
  /** The version of the database's tables, and the newest version. */
  readonly schema: number;
  readonly newestSchema: number;
  /** `undefined` if the schema is not the newest. */
  readonly content: DatabaseContent | undefined;
}

/** The version that `schema.sql` creates. Each migration adds 1. Lower versions come from commits before 1.0.0. */
const firstVersion = 1000;

export const newestVersion = (migrations: readonly unknown[]): number => firstVersion + migrations.length;

/** Returns the version of the tables after the next migration. */
export const versionAfter = (version: number): number => (version === 0 ? firstVersion : version + 1);

/** Returns the migrations to the newest version. @param version 0 if there are no tables */
export const migrationsAfter = <Migration>(
  version: number,
  schema: Migration,
  migrations: readonly Migration[],
): readonly Migration[] =>
  version === 0 ? [schema, ...migrations] : migrations.slice(version - firstVersion);

/**
 * @param version 0 if there are no tables
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

/** While the database is the target of a copy, this table has one row: name of the source, schema, progress as JSON. */
export const unfinishedCopy = 'unfinished_copy';

/** The error when a process opens a database whose copy is not complete. Only the copying process may open it. */
export const unfinishedCopyError = (label: string): DeskbellError =>
  new DeskbellError('ERR_COPY_UNFINISHED', `The database ${label} is a copy that is not complete`);

/** The disk is full. The same write succeeds once there is space. */
export class DiskFullError extends DeskbellError {
  constructor(database: string, cause: unknown) {
    const detail = `The database ${database} cannot grow: its disk is full; nothing was stored.`;
    super('ERR_STORE_UNAVAILABLE', detail, { cause });
  }
}
