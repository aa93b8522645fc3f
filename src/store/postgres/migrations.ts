// The tables of the PostgreSQL store. In the package, the text of `schema.sql` is part of the code.
import { readFileSync } from 'node:fs';
import { newestVersion } from '../database-content.ts';
import { tables } from '../tables.ts';

/**
 * Number of partitions of the subscriptions table, as in the schema. This is enough for a hundred million rows;
 * changing the number would mean migrating all rows.
 */
export const partitions = 32;

/** The channel on which the schema sends notices (NOTIFY) with the number of a broadcast. */
export const workChannel = 'deskbell_work';

/** Creates all tables in their first version. */
export const schema = tables + readFileSync(new URL('./schema.sql', import.meta.url), 'utf8');

/** An index that is built while others write to its table. Each partition has its own transaction. */
export interface NewIndex {
  readonly index: string;
  /** Name of the table without its schema. */
  readonly on: string;
  /** Columns and condition as in `create index`: `(user_name, id) where user_name is not null`. */
  readonly by: string;
}

/**
 * SQL that runs in one transaction, or an index. Never put an index of a large table into the SQL: nothing could write
 * while it is built.
 */
export type Migration = string | NewIndex;

/**
 * Changes since the first version. Once released, neither an entry nor the schema may be edited: add an entry.
 * Processes of the previous version keep using the tables, so add columns and do not rename any.
 */
export const migrations: readonly Migration[] = [];

export const schemaVersion = newestVersion(migrations);
