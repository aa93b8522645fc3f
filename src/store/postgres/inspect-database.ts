// Looks into a PostgreSQL database without bringing it to the newest schema.
import type { DatabaseContent, DatabaseState } from '../database-content.ts';
import { createSending } from '../sending.ts';
import { createVapidKeys } from '../vapid-keys.ts';
import { schemaVersion } from './migrations.ts';
import { readVersion } from './migrate.ts';
import { PostgresDatabase } from './database.ts';
import { createPortableDatabase } from './portable-database.ts';
import { checkServer } from './preflight.ts';

export interface PostgresState extends DatabaseState {
  readonly warnings: readonly string[];
  /** Other users of the server that may connect to the database because everybody may. */
  readonly strangers: readonly string[];
}

/** Locks of PostgreSQL that are not on rows are open to whoever may connect: registrations would wait for them. */
const findStrangers = `
    select rolname as name
      from pg_roles
     where rolcanlogin
       -- leaves out this user, its members, and superusers
       and not pg_has_role(oid, current_user, 'usage')
       and exists (select from pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
                    where datname = current_database() and grantee = 0 and privilege_type = 'CONNECT')
     order by rolname`;

/** @throws {DeskbellError} ERR_PACKAGE_MISSING, ERR_CONFIGURATION, ERR_STORE_UNAVAILABLE, ERR_STORE_TOO_NEW */
export async function inspectDatabase(url: string): Promise<PostgresState> {
  const warnings: string[] = [];
  const database = await PostgresDatabase.open({ url, maxConnections: 1, retryForMs: 0 });
  try {
    await checkServer(database, (warning) => warnings.push(warning), { isPatient: false });
    const schema = await database.transaction((query) => readVersion(query, database.label));
    const content = schema === schemaVersion ? await readContent(database) : undefined;
    const strangers = await database.query<{ readonly name: string }>(findStrangers);
    return {
      schema,
      newestSchema: schemaVersion,
      content,
      warnings,
      strangers: strangers.map(({ name }) => name),
    };
  } finally {
    await database.close();
  }
}

async function readContent(database: PostgresDatabase): Promise<DatabaseContent> {
  const portable = createPortableDatabase(database);
  const vapidKeys = createVapidKeys(portable);
  return {
    keys: await vapidKeys.list(),
    subscriptions: await vapidKeys.countSubscriptions(),
    pause: await createSending(portable).findPause(),
  };
}
