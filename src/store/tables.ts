// The text of `tables.sql` for each database. In the package it is part of the code.
import { readFileSync } from 'node:fs';

/** In PostgreSQL's words, as the file has it. */
export const tables = readFileSync(new URL('./tables.sql', import.meta.url), 'utf8');

/** Truth is 0 or 1, JSON is text; a table without an id of its own is stored in the order of its key. */
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
