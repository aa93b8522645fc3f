// Portable SQL in PostgreSQL: a round trip for each statement.
import type { PortableDatabase, PortableStatement, PortableValue } from '../portable-sql.ts';
import type { PostgresDatabase, Query, Value } from './database.ts';

export function createPortableDatabase(database: PostgresDatabase): PortableDatabase {
  const runAlone = <Row>(sql: string, values = {}) => runWith<Row>(database.query, { sql, values });

  return {
    now: database.clock.now,
    skipLocked: 'for update skip locked',
    readJson: <Json>(column: unknown) => column as Json,
    read: runAlone,
    write: runAlone,
    transaction: (work, lock) =>
      database.transaction(async (query) => {
        if (lock !== undefined)
          await query('select pg_advisory_xact_lock(hashtext($1), 0)', [`deskbell ${lock}`]);
        const running = work();
        let step = running.next();
        while (!step.done) step = running.next(await runWith(query, step.value));
        return step.value;
      }),
  };
}

const toPostgres = (value: PortableValue): Value =>
  value instanceof Uint8Array ? Buffer.from(value) : value;

function runWith<Row>(query: Query, { sql, values }: PortableStatement): Promise<readonly Row[]> {
  const names: string[] = [];
  const numbered = sql.replaceAll(/(?<!:):(\w+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return query(
    numbered,
    names.map((name) => toPostgres(values[name]!)),
  ) as Promise<readonly Row[]>;
}
