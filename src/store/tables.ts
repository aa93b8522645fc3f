// Converts `tables.sql` for each database. In the package, the code contains the text of the file.
import { readFileSync } from 'node:fs';

/** The tables for PostgreSQL: the file's text, unchanged. */
export const tables = readFileSync(new URL('./tables.sql', import.meta.url), 'utf8');

/**
 * The tables for SQLite, in which booleans are 0 or 1, and JSON is text. A table without an id column is stored in the
 * order of its key.
 */
export const tablesOfSqlite = (): string =>
  tables
    .replaceAll(/^.*-- PostgreSQL$|^ *--.*$/gm, '')
    .replaceAll(/\/\* SQLite:(.*?)\*\//gs, '$1')
    .replaceAll('deskbell.', '')
    .replaceAll(/ with \(fillfactor = \d+\)| partition by hash \(\w+\)| collate "C"/g, '')
    .replaceAll('bigint generated always as identity primary key', 'integer primary key autoincrement')
    .replaceAll(/ generated (?:always|by default) as identity/g, '')
    .replaceAll(/\b(?:bigint|int|boolean)\b/g, 'integer')
    .replaceAll(/\bdouble precision\b/g, 'real')
    .replaceAll(/\bbytea\b/g, 'blob')
    .replaceAll(/\bjsonb\b/g, 'text')
    .replaceAll(
      /^(create table .*?^\));( -- with rowid)?$/gms,
      (_, table: string, withRowid?: string) =>
        `${table} strict${withRowid === undefined && hasOwnKey.test(table) ? ', without rowid' : ''};`,
    );

const hasOwnKey = /primary key \(|(?:text|blob) primary key/;
