// SQL with a name for each value (`:nowMs`), prepared when it is first run, and run often. All of it is synchronous, so that a
// transaction is a plain function which nothing can interleave with.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

type Values = Readonly<Record<string, SQLInputValue>>;
export type NoValues = Readonly<Record<string, never>>;

export interface Statement<Given extends Values, Row> {
  all(values: Given): readonly Row[];
  first(values: Given): Row | undefined;
  /** @returns the number of rows changed */
  run(values: Given): number;
}

export interface StatementOptions {
  /** A row is a tuple of its columns, which takes half the time where there are many. */
  readonly arrays?: boolean;
}

/**
 * A statement for running many times: see `SqliteDatabase.prepare`. A store has 200 of them, of which a process or a thread
 * runs a few: those that it never runs cost it nothing.
 */
export function prepareStatement<Given extends Values, Row = never>(
  database: DatabaseSync,
  sql: string,
  options: StatementOptions = {},
): Statement<Given, Row> {
  let prepared: Statement<Given, Row> | undefined;
  const statement = (): Statement<Given, Row> => (prepared ??= prepareNow(database, sql, options));
  return {
    all: (values) => statement().all(values),
    first: (values) => statement().first(values),
    run: (values) => statement().run(values),
  };
}

function prepareNow<Given extends Values, Row>(
  database: DatabaseSync,
  sql: string,
  { arrays = false }: StatementOptions,
): Statement<Given, Row> {
  const names: string[] = [];
  // node:sqlite looks names up at every call, which doubles the time of a short statement; places cost nothing
  const placed = sql.replaceAll(/:(\w+)/g, (_, name: string) => {
    names.push(name);
    return '?';
  });
  const known = new Set(names);
  const statement = database.prepare(placed);
  statement.setReturnArrays(arrays);

  const place = (values: Given): SQLInputValue[] => {
    for (const name in values) {
      if (!known.has(name)) throw new TypeError(`The statement has no parameter "${name}".`);
    }
    return names.map((name) => {
      const value = values[name];
      if (value === undefined) throw new TypeError(`No value for the parameter "${name}".`);
      return value;
    });
  };

  return {
    all: (values) => statement.all(...place(values)) as unknown as readonly Row[],
    first: (values) => statement.get(...place(values)) as unknown as Row | undefined,
    run: (values) => Number(statement.run(...place(values)).changes),
  };
}
