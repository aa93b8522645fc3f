// The tables of the PostgreSQL store. In the package the text of `schema.sql` is part of the code.
import { readFileSync } from 'node:fs';
import { newestVersion } from '../database-content.ts';
import { tables } from '../tables.ts';

/** The partitions of the subscriptions table, as in the schema: enough for a hundred million rows. Another number would mean migrating all rows. */
export const partitions = 32;

/** The channel on which the schema sends notices (NOTIFY) with the number of a broadcast. */
export const workChannel = 'deskbell_work';

/** Makes all tables, of the first version. */
export const schema = tables + readFileSync(new URL('./schema.sql', import.meta.url), 'utf8');

/** An index that is built while others write to its table, in a transaction of its own for each partition. */
export interface NewIndex {
  readonly index: string;
  /** The name of the table, without its schema. */
  readonly on: string;
  /** As in `create index`: `(user_name, id) where user_name is not null`. */
  readonly by: string;
}

/** SQL that runs in one transaction, or an index. The index of a large table is never part of such SQL, because nobody could write while it is built. */
export type Migration = string | NewIndex;

/**
 * What has changed since. Once released, neither an entry nor the schema is edited: a change is a new entry. Processes of the version
 * before go on using the tables while a migration runs, and after it: add, do not rename.
 */
export const migrations: readonly Migration[] = [];

export const schemaVersion = newestVersion(migrations);
