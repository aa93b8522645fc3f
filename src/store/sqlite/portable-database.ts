// Portable SQL in SQLite: all of a transaction runs in one piece, within the transaction that all writes of a turn share.
import type { SQLInputValue } from 'node:sqlite';
import type { PortableDatabase, PortableStatement, PortableValue, Work } from '../portable-sql.ts';
import type { SqliteDatabase } from './database.ts';

export function createPortableDatabase(database: SqliteDatabase): PortableDatabase {
  const runNow = ({ sql, values }: PortableStatement): readonly unknown[] => {
    const converted = Object.entries(values).map(([name, value]) => [name, toSqlite(value)] as const);
    return database
      .prepare<Record<string, SQLInputValue>, unknown>(sql.replaceAll('deskbell.', ''))
      .all(Object.fromEntries(converted));
  };

  return {
    now: database.now,
    skipLocked: '',
    readJson: <Json>(column: unknown) => JSON.parse(String(column)) as Json,
    read: <Row>(sql: string, values = {}) => database.read(() => runNow({ sql, values }) as readonly Row[]),
    write: <Row>(sql: string, values = {}) => database.write(() => runNow({ sql, values }) as readonly Row[]),
    // one transaction writes at a time, so that no lock is needed
    transaction: (work) => database.write(() => finish(work(), runNow)),
  };
}

function finish<Result>(
  work: Work<Result>,
  runNow: (statement: PortableStatement) => readonly unknown[],
): Result {
  let step = work.next();
  while (!step.done) step = work.next(runNow(step.value));
  return step.value;
}

const toSqlite = (value: PortableValue): SQLInputValue =>
  typeof value === 'boolean' ? Number(value) : value;
