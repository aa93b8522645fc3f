// Runs portable SQL in SQLite. Transactions run one after another inside the transaction that a turn's writes share.
import type { SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  batchRows,
  checkTexts,
  type GivenSubscriptions,
  type PortableDatabase,
  type PortableStatement,
  type PortableValue,
  type PortableValues,
  type Work,
} from '../portable-sql.ts';
import type { SqliteDatabase } from './database.ts';

// Splits work that is too large for one transaction, with pauses in which other processes can write. SQLite gives the
// write lock to whoever asks at the right moment, not to whoever has waited longest.
/** A process that waits for the write lock tries to take it at least once in this time, unless the machine is busy. */
const minPauseMs = 12;

/** Calls `step` until it returns false, each time in a separate transaction. */
export async function inBatches(database: Pick<SqliteDatabase, 'write'>, step: () => boolean): Promise<void> {
  for (;;) {
    const startedAtMs = performance.now();
    if (!(await database.write(step))) return;
    // sleep half as long as the step took, so that other processes get a third of the time
    await sleep(Math.max(minPauseMs, (performance.now() - startedAtMs) / 2));
  }
}

const given: GivenSubscriptions = {
  sql: `json_each(:keys) k cross join deskbell.subscriptions s on s.id = k.value
        left join deskbell.people p on p.user_name = s.user_name`,
  keysOf: (subscriptions) => JSON.stringify(subscriptions.map(({ id }) => id)),
};

export function createPortableDatabase(database: SqliteDatabase): PortableDatabase {
  return {
    now: database.now,
    given,
    endpoint: {
      column: 'endpoint',
      // no stored endpoint is empty or contains NUL, so such an endpoint is not found
      valueOf: (endpoint) => (endpoint.includes('\0') ? '' : endpoint),
      place: "substr(endpoint, 1, instr(substr(endpoint, 9), '/') + 8)",
    },
    tags: {
      ofRow: `(select json_group_array(tag) from (
                 select tag from subscription_tags where subscription_id = s.id order by tag))`,
      table: 'subscription_tags t',
      set: (id, tags) => [
        ['delete from subscription_tags where subscription_id = :id', { id }],
        [
          'insert into subscription_tags (tag, subscription_id) select distinct value, :id from json_each(:tags)',
          { id, tags },
        ],
      ],
    },
    isOneOf: (column, name) => `${column} in (select value from json_each(:${name}))`,
    choiceOf: (column) => `${column} ->> :channel`,
    elementsOf: (name) => `json_each(:${name})`,
    byBytes: 'binary',
    position: 'instr',
    skipLocked: '',
    forUpdate: '',
    markedRow: { subscription: 'id', mark: 'subscription_id' },
    jsonArray: 'json_group_array',
    jsonObject: 'json_object',
    readJson: <Json>(column: unknown) => JSON.parse(String(column)) as Json,
    read: <Row>(sql: string, values = {}) =>
      database.read(() => runPortable(database, { sql, values }) as readonly Row[]),
    write: (sql, values = {}) => database.write(() => void runPortable(database, { sql, values })),
    writeOnce: <Row>(sql: string, values = {}) =>
      database.write(() => runPortable(database, { sql, values }) as readonly Row[]),
    writeInBatches: async (sql, values) => {
      let changed = 0;
      await inBatches(database, () => {
        const inBatch = database.run(toText(sql), toSqlite({ ...values, batchRows }));
        changed += inBatch;
        return inBatch > 0;
      });
      return changed;
    },
    // only one transaction writes at a time, so no lock is needed
    transaction: (work) => database.write(() => runWork(database, work())),
    background: (work) => database.write(() => runWork(database, work())),
    erase: (work) => database.erase(() => runWork(database, work())),
  };
}

const runPortable = (database: SqliteDatabase, { sql, values }: PortableStatement): readonly unknown[] =>
  // copy the rows, because node:sqlite returns objects without a prototype
  database.all<object>(toText(sql), toSqlite(values)).map((row) => ({ ...row }));

/** Removes the name of the PostgreSQL schema. In SQLite, the tables have no such prefix. */
const toText = (sql: string): string => sql.replaceAll('deskbell.', '');

/** Runs the statements of `work`, for which the caller has begun a transaction. */
export function runWork<Result>(database: SqliteDatabase, work: Work<Result>): Result {
  let step = work.next();
  while (!step.done) step = work.next(runPortable(database, step.value));
  return step.value;
}

function toSqlite(values: PortableValues): Record<string, SQLInputValue> {
  checkTexts(values);
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (typeof value === 'boolean') return [name, Number(value)];
      return [name, isList(value) ? JSON.stringify(value) : (value ?? null)];
    }),
  );
}

const isList = (value: PortableValue): value is readonly number[] => Array.isArray(value);
