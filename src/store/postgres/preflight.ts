// Checks a server before its database is used: a version that is known to work, the right encoding, write access,
// the necessary rights, and a clock that agrees with this machine's.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type DatabaseState, readContent } from '../database-content.ts';
import { PostgresDatabase } from './database.ts';
import { readVersion } from './migrate.ts';
import { schemaVersion } from './migrations.ts';
import { createPortableDatabase } from './portable-database.ts';

const minVersion = 15;
/** Sessions and subscriber tokens use this machine's clock. */
const maxClockDifferenceMs = 30_000;

interface ServerRow {
  readonly version: number;
  readonly encoding: string;
  readonly is_read_only: boolean;
  readonly may_create: boolean;
  readonly now_ms: number;
}

const describeServer = `
    select current_setting('server_version_num')::int / 10000 as version,
           current_setting('server_encoding') as encoding,
           pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only,
           coalesce(has_schema_privilege(to_regnamespace('deskbell')::oid, 'usage'),
                    has_database_privilege(current_database(), 'create')) as may_create,
           (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
`;

/**
 * @param onWarning called if the clocks differ
 * @param options `isPatient`: wait for a server that is starting up
 * @throws {DeskbellError} ERR_STORE_UNAVAILABLE
 */
export async function checkServer(
  database: PostgresDatabase,
  onWarning: (warning: string) => void,
  { isPatient }: { readonly isPatient: boolean },
): Promise<void> {
  const askedAtMs = Date.now();
  const [server] = await (isPatient ? database.query : database.queryBriefly)<ServerRow>(describeServer);
  const answeredAtMs = Date.now();
  if (server === undefined) throw new Error('The server does not describe itself.');
  const refuse = (detail: string): never => {
    throw new DeskbellError('ERR_STORE_UNAVAILABLE', `The database ${database.label} ${detail}.`);
  };
  if (server.version < minVersion)
    refuse(`is PostgreSQL ${server.version}; version ${minVersion} or newer is needed`);
  if (server.encoding !== 'UTF8') refuse(`has the encoding ${server.encoding}; it must be UTF8`);
  if (server.is_read_only) refuse('is read-only: it is a standby, or set so');
  if (!server.may_create) {
    refuse(
      'gives its user too few rights: it needs CREATE on the database, or the schema "deskbell" of its own',
    );
  }
  const differenceMs = Math.max(askedAtMs - server.now_ms, server.now_ms - answeredAtMs);
  if (differenceMs > maxClockDifferenceMs) {
    onWarning(
      `The clock of the database ${database.label} differs from this machine's by ${Math.round(differenceMs / 1000)} s: ` +
        'messages, schedules and tokens of push services go by the time of the database. Synchronize both.',
    );
  }
}

// Inspects a PostgreSQL database without migrating it.

export interface PostgresState extends DatabaseState {
  readonly warnings: readonly string[];
}

/** @throws {DeskbellError} ERR_PACKAGE_MISSING, ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE, ERR_STORE_TOO_NEW */
export async function inspectDatabase(url: string): Promise<PostgresState> {
  const warnings: string[] = [];
  const database = await PostgresDatabase.open({ url, maxConnections: 1, retryForMs: 0 });
  try {
    await checkServer(database, (warning) => warnings.push(warning), { isPatient: false });
    const schema = await database.transaction((query) => readVersion(query, database.label));
    const content =
      schema === schemaVersion ? await readContent(createPortableDatabase(database)) : undefined;
    return { schema, newestSchema: schemaVersion, content, warnings };
  } finally {
    await database.close();
  }
}
