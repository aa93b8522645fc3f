// What statements cost on PostgreSQL: the pages that they read and write, those of functions and triggers included. Each is run
// for this just before it is run, and taken back, twice: a connection that has not run it before reads the catalogue, too.
import { Client, type QueryConfig, type QueryResult } from 'pg';
import type { Store } from '../../src/store/store.ts';
import { usePostgres } from '../store/test-database.ts';
import { describeGrowth, insertsOf, type Cost } from './growth-suite.ts';

usePostgres();

type Rows = QueryResult['rows'];

interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

/** Index scans of the transaction, and index entries that it has made. */
const descents = `
  select coalesce(sum(case c.relkind when 'i' then pg_stat_get_xact_numscans(c.oid) else
    (pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid)
     - pg_stat_get_xact_tuples_hot_updated(c.oid)) * (select count(*) from pg_index i where i.indrelid = c.oid) end), 0)::int as descents
  from pg_class c where c.relnamespace = 'deskbell'::regnamespace and c.relkind in ('i', 'r')`;

const isCounted = /^\s*(?:select|with|insert|update|delete)\b/i;

/** Rows that stand in other pages the next time. */
const chance = 10;

const urlOf = ({ address }: Store): string => (address.options as { readonly url: string }).url;

describeGrowth('PostgreSQL', {
  async fill(store, from, to) {
    const client = new Client({ connectionString: urlOf(store) });
    await client.connect();
    // at any time it makes sessions read pages of the catalogue again
    await client.query('alter system set autovacuum = off');
    await client.query('select pg_reload_conf()');
    const made = to.open - from.open + to.past - from.past;
    await client.query(`
      set search_path to deskbell;
      insert into subscriptions (endpoint_hash, endpoint, p256dh, auth, vapid_key_id, created_at_ms, updated_at_ms, user_name, tags)
        select substr(encode(sha256(convert_to(e, 'utf8')), 'hex'), 1, 32)::uuid, e, decode(repeat('04', 65), 'hex'),
               decode(repeat('01', 16), 'hex'), (select min(id) from vapid_keys), ${Date.now()}, ${Date.now()}, 'user-' || i,
               case when i % 5000 = 7 then '{news,rare}' else '{news}' end::text[]
        from generate_series(${from.subscriptions + 1}, ${to.subscriptions}) i,
             lateral (select 'https://fcm.googleapis.com/fcm/send/' || i as e) e;
      create temp table made as
        select i, i <= ${to.open - from.open} as is_open, nextval('broadcasts_id_seq') as id from generate_series(1, ${made}) i;
      ${insertsOf(from, to, {
        series: (first, last) => `generate_series(${first + 1}, ${last}) n (i)`,
        bytes: (hex) => `'\\x${hex}'::bytea`,
        overriding: 'overriding system value',
      })}
      insert into gone_marks (subscription_id, endpoint_hash, origin, answer_window, marked_at_ms, updated_at_ms, is_held)
        select id, endpoint_hash, 'https://fcm.googleapis.com', 1, id, updated_at_ms, true from subscriptions where id % 100 = 3
        on conflict do nothing;
      drop table made`);
    await client.query('vacuum analyze');
    await client.end();
  },

  async clean(store) {
    const client = new Client({ connectionString: urlOf(store) });
    await client.connect();
    await client.query('vacuum');
    await client.end();
  },

  measure() {
    const costs = new Map<string, Cost>();
    const inTransaction = new WeakSet<Client>();
    const { query } = Client.prototype;
    const runOnce = async (client: Client, sql: string, values: unknown): Promise<Cost | undefined> => {
      const run = async (text: string, given?: unknown): Promise<Rows> => {
        const asked = Reflect.apply(query, client, [text, given]) as Promise<QueryResult>;
        return asked.then(
          ({ rows }) => rows,
          () => [],
        );
      };
      const isInside = inTransaction.has(client);
      await run(isInside ? 'savepoint counted' : 'begin');
      const [first] = await run(descents);
      const [plan] = await run(`explain (analyze, buffers, timing off, format json) ${sql}`, values);
      const [last] = await run(descents);
      await run(isInside ? 'rollback to counted' : 'rollback');
      if (plan === undefined) return undefined;
      const root = (plan as { 'QUERY PLAN': readonly { readonly Plan: Plan }[] })['QUERY PLAN'][0]!.Plan;
      return {
        cost: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
        mayGrowBy: last.descents - first.descents + chance,
      };
    };
    const count = async (client: Client, sql: string, values: unknown): Promise<void> => {
      const key = sql.replaceAll(/deskbell_functions_\w+/g, 'functions');
      const one = await runOnce(client, sql, values);
      const other = await runOnce(client, sql, values);
      if (one === undefined || other === undefined) return;
      const cost = one.cost < other.cost ? one : other;
      if (cost.cost > (costs.get(key)?.cost ?? -1)) costs.set(key, cost);
    };
    Object.assign(Client.prototype, {
      query(this: Client, sql: unknown, values: unknown, ...rest: unknown[]) {
        const ask = () => Reflect.apply(query, this, [sql, values, ...rest]) as unknown;
        const statement = typeof sql === 'string' ? { text: sql, values } : (sql as Partial<QueryConfig>);
        const { text } = statement;
        if (text === undefined) return ask();
        if (text.startsWith('begin')) inTransaction.add(this);
        else if (/^(?:commit|rollback)/.test(text)) inTransaction.delete(this);
        return isCounted.test(text) ? count(this, text, statement.values).then(ask) : ask();
      },
    });
    return () => {
      Object.assign(Client.prototype, { query });
      return costs;
    };
  },
});
