// Runs portable SQL in PostgreSQL, with a round trip for each statement.
import { hashEndpoint } from '../../protocol/endpoint.ts';
import {
  batchRows,
  checkTexts,
  type GivenSubscriptions,
  type PortableDatabase,
  type PortableStatement,
  type PortableValue,
  type Work,
} from '../portable-sql.ts';
import type { PostgresDatabase, Query, Value } from './database.ts';

// The hash determines the partition. `offset 0` keeps the planner from reading whole tables that it considers small.
const given: GivenSubscriptions = {
  sql: `unnest(cast(:keys as uuid[])) k (hash)
    cross join lateral (select * from deskbell.subscriptions where endpoint_hash = k.hash offset 0) s
    left join lateral (select * from deskbell.people where user_name = s.user_name offset 0) p on true`,
  keysOf: (subscriptions) => `{${subscriptions.map(({ endpoint }) => hashEndpoint(endpoint)).join(',')}}`,
};

/** Makes PostgreSQL use indexes, even if the planner is wrong about a table's size: the changes affect few rows. */
const byIndexes =
  'set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off';

export function createPortableDatabase(database: PostgresDatabase): PortableDatabase {
  const transaction: PortableDatabase['transaction'] = (work, lock?: string) =>
    database.once(async (query) => {
      if (lock !== undefined)
        await query('select from deskbell.locks where place = hashtext($1) & 255 for no key update', [lock]);
      return runWork(query, work());
    });
  const runAlone = <Row>(sql: string, values = {}) => runWith<Row>(database.query, { sql, values });

  return {
    now: database.clock.now,
    given,
    endpoint: {
      column: 'endpoint_hash',
      valueOf: hashEndpoint,
      place: `(split_part(endpoint, '/', 3) collate "C")`,
    },
    tags: {
      ofRow: `coalesce(to_jsonb(s.tags), '[]')`,
      table: '(select unnest(tags) as tag from deskbell.subscriptions where tags is not null) t',
      set: (id, tags) => [
        [
          `update deskbell.subscriptions set tags = (
             select array_agg(tag order by tag collate "C") from jsonb_array_elements_text(cast(:tags as jsonb)) tag)
           where id = :id`,
          { id, tags },
        ],
      ],
    },
    isOneOf: (column, name) => `${column} = any (:${name}::bigint[])`,
    choiceOf: (column) => `(${column}::jsonb ->> :channel)::boolean`,
    elementsOf: (name) => `jsonb_array_elements(cast(:${name} as jsonb))`,
    byBytes: '"C"',
    position: 'strpos',
    skipLocked: 'for update skip locked',
    forUpdate: 'for no key update',
    // `updated_at_ms` differs if the subscription was renewed after it was read
    markedRow: {
      subscription: 'endpoint_hash, id, updated_at_ms',
      mark: 'endpoint_hash, subscription_id, updated_at_ms',
    },
    jsonArray: 'jsonb_agg',
    jsonObject: 'jsonb_build_object',
    readJson: <Json>(column: unknown) => column as Json,
    read: runAlone,
    write: async (sql, values) => {
      await runAlone(sql, values);
    },
    writeOnce: (sql, values = {}) => database.once((query) => runWith(query, { sql, values })),
    writeInBatches: async (sql, values) => {
      let changed = 0;
      for (let inBatch = -1; inBatch !== 0; changed += inBatch) {
        const rows = await database.once(async (query) => {
          await query(byIndexes);
          return runWith(query, { sql: `${sql} returning 1`, values: { ...values, batchRows } });
        });
        inBatch = rows.length;
      }
      return changed;
    },
    transaction,
    background: (work) =>
      database.transaction(async (query) => {
        await query(`set local synchronous_commit = off; ${byIndexes}`);
        return runWork(query, work());
      }),
    erase: transaction,
  };
}

const toPostgres = (value: PortableValue): Value =>
  value instanceof Uint8Array ? Buffer.from(value) : (value ?? null);

/** Runs the statements of a `Work` within a transaction. */
export async function runWork<Result>(query: Query, work: Work<Result>): Promise<Result> {
  let step = work.next();
  while (!step.done) step = work.next(await runWith(query, step.value));
  return step.value;
}

/** Runs portable SQL within a transaction. */
export async function runWith<Row>(
  query: Query,
  { sql, values }: PortableStatement,
): Promise<readonly Row[]> {
  checkTexts(values);
  const names: string[] = [];
  const numbered = sql.replaceAll(/(?<!:):(\w+)/g, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return query(
    numbered,
    names.map((name) => toPostgres(values[name])),
  ) as Promise<readonly Row[]>;
}
