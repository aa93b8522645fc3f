// Kysely writes the SQL, once; `node:sqlite` runs it with fresh values. Both are synchronous here, so that a
// transaction is a plain function which nothing can interleave with.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import {
  type Compilable,
  type RawBuilder,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Schema } from './schema.ts';

/** Builds queries of SQLite's dialect; it runs none. */
export const queries = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Stands in a query for a value that is given when it runs, under `name`. */
export function parameter<Value>(name: string): Value {
  return new Parameter(name) as Value;
}

export type Values = Readonly<Record<string, SQLInputValue>>;

export interface Statement<Row> {
  all(values?: Values): readonly Row[];
  first(values?: Values): Row | undefined;
  /** @returns the number of rows changed */
  run(values?: Values): number;
}

/** A query written by hand with Kysely's `sql`, for where the builder would say it worse. */
export function written<Row>(query: RawBuilder<Row>): Compilable<Row> {
  return { compile: () => query.compile(queries) };
}

/**
 * Prepares a query for running many times.
 *
 * @param options `bigints`: integers are read as `bigint`, exact beyond 2^53; `arrays`: a row is a tuple of its columns,
 *   which takes half the time where there are many
 */
export function prepare<Row>(
  database: DatabaseSync,
  query: Compilable<Row>,
  { bigints = false, arrays = false }: { readonly bigints?: boolean; readonly arrays?: boolean } = {},
): Statement<Row> {
  const { sql, parameters } = query.compile();
  const statement = database.prepare(sql);
  statement.setReadBigInts(bigints);
  statement.setReturnArrays(arrays);

  const bind = (values: Values): SQLInputValue[] =>
    parameters.map((given) => {
      if (!(given instanceof Parameter)) return given as SQLInputValue;
      const value = values[given.name];
      if (value === undefined) throw new TypeError(`No value for the parameter "${given.name}".`);
      return value;
    });

  return {
    all: (values = {}) => statement.all(...bind(values)) as unknown as readonly Row[],
    first: (values = {}) => statement.get(...bind(values)) as unknown as Row | undefined,
    run: (values = {}) => Number(statement.run(...bind(values)).changes),
  };
}
