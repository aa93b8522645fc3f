// A PostgreSQL database as the source or target of a copy. No other Deskbell process may be connected to it.
import { setTimeout as sleep } from 'node:timers/promises';
import { countOf } from '../../errors/format-count.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { encodeIds } from '../id-set.ts';
import { migrate, readVersion } from '../postgres/migrate.ts';
import { partitions, schemaVersion } from '../postgres/migrations.ts';
import { PostgresDatabase, type Query } from '../postgres/database.ts';
import { codeOf } from '../postgres/database-errors.ts';
import { checkServer } from '../postgres/preflight.ts';
import { runWith } from '../postgres/portable-database.ts';
import {
  copiedTables,
  selectSql,
  sequences,
  sequenceTables,
  type CopiedTable,
  type OwnForm,
} from './copied-tables.ts';
import { pageRows, type CopyDatabase, type CopyTransaction } from './copy-database.ts';

/** Long, because PostgreSQL may sort a large table before it returns rows, and the target of a copy may be slow. */
const statementTimeoutMs = 24 * 60 * 60 * 1000;
/** The server drops closed connections, and connections of killed processes, within this time. */
const defaultWaitForOthersMs = 5000;
const lockTimeoutMs = 2000;

/**
 * In PostgreSQL, a slice of an open broadcast can be an id range in one partition. The copy gets such a slice as a set
 * of ids, which are its remaining rows. These temporary tables hold the sets and their audiences while the source is
 * read.
 */
const audiencesOfPartitions = 'pg_temp.audiences_of_partitions';
const setsOfPartitions = 'pg_temp.sets_of_partitions';

const ownForms: Readonly<Record<string, OwnForm>> = {
  audiences: {
    from: `(select id, members, created_at_ms from deskbell.audiences
            union all select audience_id, 0, created_at_ms from ${audiencesOfPartitions})`,
  },
  audience_sets: {
    from: `(select audience_id, number, in_partition, first_id, last_id, rows, ids, language, time_zone, left_out
            from deskbell.audience_sets s where exists (select from deskbell.audiences a where a.id = s.audience_id)
            union all select audience_id, number, in_partition, first_id, last_id, rows, ids, null, null, 0 from ${setsOfPartitions})`,
  },
  broadcasts: {
    columns: {
      rows_in: `case t.rows_in when 'partition' then 'all' else t.rows_in end`,
      audience_id: `coalesce((select o.audience_id from ${audiencesOfPartitions} o where o.broadcast_id = t.id),
                             (select a.id from deskbell.audiences a where a.id = t.audience_id))`,
    },
  },
  [sequences.name]: {
    from: `(${sequenceTables
      .map((name) => {
        const own = name === 'audiences' ? `(select max(audience_id) from ${audiencesOfPartitions})` : '0';
        return `select '${name}' as name, greatest(case when is_called then last_value else 0 end, ${own}) as seq
                from deskbell.${name}_id_seq`;
      })
      .join(' union all ')})`,
  },
};

const hashOf = (endpoint: string): string =>
  `left(encode(sha256(convert_to(${endpoint}, 'UTF8')), 'hex'), 32)::uuid`;
const hashOfId = (id: string): string =>
  `(select s.endpoint_hash from deskbell.subscriptions s where s.id = ${id}::bigint)`;

/** SQL for the columns that only PostgreSQL has. `r` is the copied row, in which all values are text. */
const ownColumns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  subscriptions: {
    endpoint_hash: hashOf('r.endpoint'),
    tags: '(select array_agg(tag) from json_array_elements_text(r.tags::json) tag)',
  },
  audience_members: { endpoint_hash: hashOf('r.endpoint') },
  gone_marks: { endpoint_hash: hashOfId('r.subscription_id') },
  retries: {
    endpoint_hash: `case when (select b.rows_in from deskbell.broadcasts b where b.id = r.broadcast_id::bigint) <> 'list'
                    then ${hashOfId('r.position')} end`,
  },
};

export interface PostgresCopyOptions {
  readonly url: string;
  /** How long to wait for other processes' connections to disappear. Default: 5000. */
  readonly waitForOthersMs?: number | undefined;
}

/** @throws {DeskbellError} ERR_COPY_SOURCE, ERR_STORE_IN_USE, and the errors of opening the store */
export function openPostgresSource({ url, waitForOthersMs }: PostgresCopyOptions): Promise<CopyDatabase> {
  // do not retry: another connection could not continue the read
  return open({ url, retryForMs: 0 }, async (database) => {
    const version = await database.transaction((query) => readVersion(query, database.label));
    if (version === 0) {
      throw new DeskbellError('ERR_COPY_SOURCE', `The database ${database.label} has no tables of Deskbell`);
    }
    await migrate(database);
    await assertAlone(database, waitForOthersMs);
    const lock = async (query: Query): Promise<void> => {
      await lockAll(query, database.label);
      await assertNothingLeased(query, database.label);
    };
    return toCopyDatabase(database, lock);
  });
}

/** @throws {DeskbellError} ERR_STORE_IN_USE, and the errors of opening the store */
export function openPostgresTarget({ url, waitForOthersMs }: PostgresCopyOptions): Promise<CopyDatabase> {
  return open({ url }, async (database) => {
    await migrate(database).catch((error: unknown) => {
      if (!(error instanceof DeskbellError && error.code === 'ERR_COPY_UNFINISHED')) throw error;
    });
    await assertAlone(database, waitForOthersMs);
    return toCopyDatabase(database);
  });
}

async function open<End>(
  options: { readonly url: string; readonly retryForMs?: number },
  prepare: (database: PostgresDatabase) => Promise<End>,
): Promise<End> {
  const database = await PostgresDatabase.open({ ...options, maxConnections: 1, statementTimeoutMs });
  try {
    await checkServer(database, () => {}, { isPatient: false });
    return await prepare(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** @param lock a statement that runs before anything is read */
const toCopyDatabase = (
  database: PostgresDatabase,
  lock: (query: Query) => Promise<void> = async () => {},
): CopyDatabase => ({
  label: database.label,
  schemaVersion,
  select: (table) => selectSql(table, ownForms[table.name]),
  collation: ' collate "C"',
  findTable: `select 1 from pg_tables where schemaname = 'deskbell' and tablename = :name`,
  transaction: (work) => database.transaction((query) => work(transactionOf(query))),
  read: (work) =>
    database.transaction(async (query) => {
      await query('set transaction isolation level repeatable read');
      await lock(query);
      await gatherPartitions(query);
      return work(transactionOf(query));
    }),
  finish: async ({ run }) => {
    // new ids continue after the existing ones
    for (const name of ['vapid_keys', 'push_services', 'attempt_sets', 'answer_windows'])
      await run(
        `select setval('deskbell.${name}_id_seq', greatest(max(id), 1), max(id) is not null) from deskbell.${name}`,
      );
  },
  close: () => database.close(),
});

/** Checks that no other process is connected. Even an idle worker would begin to send the copied broadcasts. */
async function assertAlone(
  database: PostgresDatabase,
  waitForOthersMs = defaultWaitForOthersMs,
): Promise<void> {
  const endMs = performance.now() + waitForOthersMs;
  for (;;) {
    const others = await database.first<{ readonly count: number }>(`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and application_name = 'deskbell' and pid <> pg_backend_pid()`);
    const count = others?.count ?? 0;
    if (count === 0) return;
    if (performance.now() >= endMs) {
      throw new DeskbellError(
        'ERR_STORE_IN_USE',
        `The database ${database.label} is used by ${countOf(count, 'other connection')} of Deskbell`,
      );
    }
    await sleep(50);
  }
}

/** Locks all tables: others can read them, but not write until everything is copied. */
async function lockAll(query: Query, label: string): Promise<void> {
  const tables = copiedTables.filter((table) => table !== sequences).map(({ name }) => `deskbell.${name}`);
  await query(`set local lock_timeout = ${lockTimeoutMs}`);
  try {
    await query(`lock table ${tables.join(', ')} in exclusive mode`);
  } catch (error) {
    if (codeOf(error) !== '55P03') throw error;
    throw new DeskbellError('ERR_STORE_IN_USE', `The database ${label} is written by another process`, {
      cause: error,
    });
  }
}

/** Checks that nothing is leased. A worker that was killed or cut off may still be sending its rows. */
async function assertNothingLeased(query: Query, label: string): Promise<void> {
  const [leased] = await query<{ readonly broadcast_id: number; readonly seconds: number }>(`
    select l.broadcast_id, ceil((max(l.until_ms) - n.now_ms) / 1000.0)::int as seconds
    from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms) n
    -- a slice that nobody has leased waits for the time of its readers
    join (select broadcast_id, lease_until_ms as until_ms from deskbell.slices where token is not null
          union all select broadcast_id, due_at_ms from deskbell.retries where token is not null) l on l.until_ms > n.now_ms
    group by l.broadcast_id, n.now_ms order by seconds desc limit 1`);
  if (leased === undefined) return;
  throw new DeskbellError(
    'ERR_STORE_IN_USE',
    `A worker has leased rows of broadcast ${leased.broadcast_id} in ${label} for ${leased.seconds} s: it may be sending, or ` +
      'was killed',
  );
}

async function gatherPartitions(query: Query): Promise<void> {
  await query(`
    create temp table audiences_of_partitions on commit drop as
      select b.id as broadcast_id, b.created_at_ms,
             (select greatest(max(a.id), max(q.last_value)) from deskbell.audiences_id_seq q left join deskbell.audiences a on true)
               + row_number() over (order by b.id) as audience_id
      from deskbell.broadcasts b where b.rows_in = 'partition' and b.state in ('running', 'paused');
    create temp table sets_of_partitions (like deskbell.audience_sets including defaults) on commit drop`);
  const slices = await query<
    Readonly<Record<'audience_id' | 'number' | 'cursor' | 'through_position' | 'removals_after', number>>
  >(`
    select o.audience_id, l.number, l.cursor, l.through_position, b.removals_after
    from ${audiencesOfPartitions} o join deskbell.broadcasts b on b.id = o.broadcast_id
    join deskbell.slices l on l.broadcast_id = b.id`);
  for (const { audience_id, number, cursor, through_position, removals_after } of slices) {
    const partition = number % partitions;
    // rows whose subscription was removed are counted when a worker reaches them
    const rows = await query<{ readonly id: number }>(
      `select id from deskbell.subscriptions_${partition} where id > $1 and id <= $2
       union
       select subscription_id from deskbell.removals
       where in_partition = $3 and id > $4 and subscription_id > $1 and subscription_id <= $2
       order by id`,
      [cursor, through_position, partition, removals_after],
    );
    if (rows.length === 0) continue;
    const ids = rows.map(({ id }) => id);
    await query(
      `insert into ${setsOfPartitions} (audience_id, number, in_partition, first_id, last_id, rows, ids)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [audience_id, number, partition, ids[0]!, ids.at(-1)!, ids.length, Buffer.from(encodeIds(ids))],
    );
  }
}

const transactionOf = (query: Query): CopyTransaction => ({
  run: (sql, values = {}) => runWith(query, { sql, values }),
  pages: async function* (sql) {
    await query(`declare copied no scroll cursor for ${sql}`);
    for (;;) {
      const page = await query<Record<string, unknown>>(`fetch ${pageRows} from copied`);
      if (page.length > 0) yield page;
      if (page.length < pageRows) break;
    }
    await query('close copied');
  },
  insert: async (table, rows) => {
    const names = table.columns.map(({ name }) => name);
    const given = `unnest(${names.map((_, index) => `$${index + 1}::text[]`).join(', ')}) as r (${quoted(names)})`;
    await query(
      `${await insertSql(query, table)} from ${given}`,
      names.map((_, index) => rows.map((row) => row[index] ?? null)),
    );
  },
});

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** Casts the text values of `r` to the types of the columns. */
async function insertSql(query: Query, table: CopiedTable): Promise<string> {
  if (table === sequences)
    return `select setval('deskbell.' || r.name || '_id_seq', greatest(r.seq::bigint, 1), r.seq::bigint > 0)`;
  const types = await query<{ readonly name: string; readonly type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0`,
    [`deskbell.${table.name}`],
  );
  const typeOf = new Map(types.map(({ name, type }) => [name, type]));
  const values = {
    ...Object.fromEntries(table.columns.map(({ name }) => [name, `r."${name}"::${typeOf.get(name)}`])),
    ...ownColumns[table.name],
  };
  return `insert into deskbell.${table.name} (${quoted(Object.keys(values))}) overriding system value
    select ${Object.values(values).join(', ')}`;
}
