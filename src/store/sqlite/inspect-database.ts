// Inspects an existing database file without migrating it.
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type DatabaseContent, type DatabaseState, unheardBellsQuery } from '../database-content.ts';
import {
  reportLifetimeMs,
  selectPause,
  type SenderReport,
  type SendingPauseRow,
  toSendingPause,
} from '../sending.ts';
import type { VapidKeyState } from '../vapid-keys.ts';
import {
  assertNotEmpty,
  assertOurs,
  assertPrivate,
  assertRegular,
  changeNothing,
  readVersion,
} from './open-database-file.ts';
import { schemaVersion } from './migrations.ts';
import { isBusy, toStoreError } from './database-errors.ts';

/** Does not create the file. */
export const readWriteUrl = (path: string): URL => new URL(`${pathToFileURL(path)}?mode=rw`);

/** With this URL, SQLite writes neither to the file nor next to it. */
export const immutableUrl = (path: string): URL => new URL(`${pathToFileURL(path)}?mode=ro&immutable=1`);

/** @throws {DeskbellError} ERR_STORE_CORRUPT, ERR_STORE_UNAVAILABLE, and the errors of `work` */
export function withDatabase<Result>(
  url: URL,
  path: string,
  work: (database: DatabaseSync) => Result,
): Result {
  assertRegular(path);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(url);
    return work(database);
  } catch (error) {
    throw toStoreError(error, path);
  } finally {
    database?.close();
  }
}

/** @throws {DeskbellError} ERR_STORE_CORRUPT */
export function assertWhole(database: DatabaseSync, path: string): void {
  assertNotEmpty(path);
  const [first] = database.prepare('pragma integrity_check(1)').all();
  if (first?.['integrity_check'] === 'ok') return;
  throw new DeskbellError('ERR_STORE_CORRUPT', `The database ${path} is damaged.`);
}

/**
 * Checks all pages of a database, which may be in use, and whether it is writable.
 *
 * @throws {DeskbellError} ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW, ERR_STORE_UNAVAILABLE, ERR_DATA_EXPOSED
 */
export function inspectDatabase(path: string): DatabaseState {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    assertRegular(file);
    assertPrivate(file);
  }
  return withDatabase(readWriteUrl(path), path, (database) => {
    assertOurs(database, path);
    const schema = readVersion(database, path);
    assertWhole(database, path);
    if (schema > 0) assertWritable(database);
    const isNewest = schema === schemaVersion;
    return { schema, newestSchema: schemaVersion, content: isNewest ? readContent(database) : undefined };
  });
}

function assertWritable(database: DatabaseSync): void {
  try {
    database.exec(changeNothing);
  } catch (error) {
    // another process is writing to it
    if (!isBusy(error)) throw error;
  }
}

function readContent(database: DatabaseSync): DatabaseContent {
  const keys = database
    .prepare(
      `select public_key, state,
         (select coalesce(sum(subscriptions), 0) from subscription_counts where vapid_key_id = id) as subscriptions
       from vapid_keys order by id`,
    )
    .all();
  const pause = database.prepare(selectPause.replaceAll('deskbell.', '')).get();
  const reports = database
    .prepare('select report from senders where seen_at_ms >= ?')
    .all(Date.now() - reportLifetimeMs);
  const bells = database.prepare(unheardBellsQuery.replaceAll('deskbell.', '')).all();
  return {
    keys: keys.map(({ public_key, state }) => ({
      publicKey: String(public_key),
      state: (state as VapidKeyState | null) ?? undefined,
    })),
    subscriptions: new Map(
      keys.map(({ public_key, subscriptions }) => [String(public_key), Number(subscriptions)]),
    ),
    pause: pause && toSendingPause(pause as unknown as SendingPauseRow),
    workers: reports.filter(
      (sender) => (JSON.parse(String(sender['report'])) as SenderReport).kind === 'worker',
    ).length,
    unheardBells: bells.map(({ name }) => String(name)),
  };
}
