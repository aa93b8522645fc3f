// The tables of the SQLite store. In the package, the code contains the text of `schema.sql`.
import { readFileSync } from 'node:fs';
import { newestVersion } from '../database-content.ts';
import { tablesOfSqlite } from '../tables.ts';

/** Creates all tables in their first version. */
export const schema = tablesOfSqlite() + readFileSync(new URL('./schema.sql', import.meta.url), 'utf8');

/**
 * Changes since the first version, each in one transaction. Once released, neither an entry nor the schema may be
 * edited: add an entry.
 */
export const migrations: readonly string[] = [];

/** SQLite's `user_version`. */
export const schemaVersion = newestVersion(migrations);
