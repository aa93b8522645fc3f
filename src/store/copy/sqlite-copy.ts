// A SQLite file as the source or the target of a copy. No other process may have it open meanwhile.
import { DatabaseSync } from 'node:sqlite';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { readWriteUrl } from '../sqlite/inspect-database.ts';
import { schemaVersion } from '../sqlite/migrations.ts';
import { openDatabaseFile } from '../sqlite/open-database-file.ts';
import { isBusy, toStoreError } from '../sqlite/database-errors.ts';
import { selectSql, sequences, sequenceTables, type CopiedTable, type OwnForm } from './copied-tables.ts';
import { pageRows, type CopyDatabase, type CopyTransaction } from './copy-database.ts';

const ownForms: Readonly<Record<string, OwnForm>> = {
  subscriptions: {
    columns: {
      tags: `(select iif(count(*) = 0, null, json_group_array(tag)) from (
                select tag from subscription_tags where subscription_id = t.id order by tag))`,
    },
  },
  [sequences.name]: {
    from: `(select n.value as name, coalesce(s.seq, 0) as seq
            from json_each('${JSON.stringify(sequenceTables)}') n left join sqlite_sequence s on s.name = n.value)`,
  },
};

/**
 * @throws {DeskbellError} ERR_STORE_IN_USE, ERR_COPY_UNFINISHED, ERR_STORE_CORRUPT, ERR_STORE_TOO_NEW,
 *   ERR_STORE_UNAVAILABLE
 */
export async function openSqliteSource(path: string): Promise<CopyDatabase> {
  (await openDatabaseFile(path)).close();
  return openAlone(path);
}

/**
 * Creates the file if it does not exist.
 *
 * @throws {DeskbellError} the errors of `openSqliteSource`, except ERR_COPY_UNFINISHED
 */
export async function openSqliteTarget(path: string): Promise<CopyDatabase> {
  try {
    (await openDatabaseFile(path)).close();
  } catch (error) {
    if (!(error instanceof DeskbellError && error.code === 'ERR_COPY_UNFINISHED')) throw error;
  }
  return openAlone(path);
}

/** Opens the file exclusively. SQLite gives this lock only if there is no other connection, and then allows none. */
function openAlone(path: string): CopyDatabase {
  // tables are written in any order, so a row may come before its parent; rows without a parent were not read at all
  const database = new DatabaseSync(readWriteUrl(path), { enableForeignKeyConstraints: false });
  try {
    database.exec('pragma locking_mode = exclusive; pragma synchronous = full; begin immediate; commit');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw toStoreError(error, path);
    throw new DeskbellError('ERR_STORE_IN_USE', `The database ${path} is open in another process`, {
      cause: error,
    });
  }
  const transaction: CopyDatabase['transaction'] = async (work) => {
    try {
      database.exec('begin immediate');
      const result = await work(transactionOf(database));
      database.exec('commit');
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw toStoreError(error, path);
    }
  };
  return {
    label: path,
    schemaVersion,
    select: (table) => selectSql(table, ownForms[table.name]),
    collation: '',
    findTable: 'select 1 from sqlite_schema where name = :name',
    transaction,
    read: transaction,
    finish: async ({ run }) => {
      const [wrong] = await run<{ readonly table: string }>('pragma foreign_key_check');
      if (wrong === undefined) return;
      throw new DeskbellError(
        'ERR_STORE_CORRUPT',
        `A row of the table ${wrong.table} in ${path} refers to a row that is not there`,
      );
    },
    close: async () => database.close(),
  };
}

const inSqlite = (sql: string): string => sql.replaceAll('deskbell.', '');

const transactionOf = (database: DatabaseSync): CopyTransaction => ({
  run: async <Row>(sql: string, values = {}) =>
    database.prepare(inSqlite(sql)).all(values) as unknown as readonly Row[],
  pages: async function* (sql) {
    let page = [];
    for (const row of database.prepare(inSqlite(sql)).iterate()) {
      if (page.push(row) < pageRows) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  },
  insert: async (table, rows) => {
    const statements = insertsOf(table).map((sql) => database.prepare(sql));
    for (const statement of statements) statement.setAllowUnknownNamedParameters(true);
    for (const row of rows) {
      const values = Object.fromEntries(table.columns.map(({ name }, index) => [name, row[index] ?? null]));
      for (const statement of statements) statement.run(values);
    }
  },
});

function insertsOf({ name, columns }: CopiedTable): readonly string[] {
  if (name === sequences.name) {
    return [
      'delete from sqlite_sequence where name = :name',
      'insert into sqlite_sequence (name, seq) values (:name, :seq)',
    ];
  }
  const stored = columns.filter((column) => column.name !== 'tags');
  const values = stored.map((column) =>
    column.type === 'BLOB' ? `unhex(substr(:${column.name}, 3))` : `:${column.name}`,
  );
  const insert = `insert into ${name} (${stored.map((column) => `"${column.name}"`).join(', ')}) values (${values.join(', ')})`;
  const insertTags =
    'insert into subscription_tags (tag, subscription_id) select value, :id from json_each(:tags)';
  return stored.length === columns.length ? [insert] : [insert, insertTags];
}
