// What pages and lists read, on PostgreSQL: the rows that its plans visit, and the pages of the database.
import assert from 'node:assert/strict';
import { Client } from 'pg';
import type { Store } from '../../src/store/store.ts';
import { usePostgres } from '../store/test-database.ts';
import { describeLightReads, type MadeStatement } from './light-reads-suite.ts';

usePostgres();

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Plan[];
}

/** Of tables and indexes; the others read what these have read. */
const scansOfTables = /^(?:Seq|Index|Index Only|Bitmap Heap|Bitmap Index|Tid) Scan$/;

function rowsOf(plan: Plan): number {
  const below = (plan.Plans ?? []).reduce((sum, part) => sum + rowsOf(part), 0);
  if (!scansOfTables.test(plan['Node Type'])) return below;
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  return below + (plan['Actual Rows'] + removed) * plan['Actual Loops'];
}

async function withClient<Result>(
  { address }: Store,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: (address.options as { readonly url: string }).url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

describeLightReads('PostgreSQL', {
  record() {
    const made: MadeStatement[] = [];
    const { query } = Client.prototype;
    Object.assign(Client.prototype, {
      query(this: Client, sql: unknown, values: unknown, ...rest: unknown[]) {
        if (typeof sql === 'string') made.push({ sql, values: Array.isArray(values) ? values : [] });
        return Reflect.apply(query, this, [sql, values, ...rest]) as unknown;
      },
    });
    return () => {
      Object.assign(Client.prototype, { query });
      return made;
    };
  },
  settle: (store) => withClient(store, async (client) => void (await client.query('vacuum analyze'))),
  count: (store, statements) =>
    withClient(store, async (client) => {
      const counts: number[] = [];
      for (const { sql, values } of statements) {
        const { rows } = await client.query<{ readonly 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
          `explain (analyze, buffers, timing off, format json) ${sql}`,
          [...values],
        );
        const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
        assert.ok(plan, sql);
        // a function's own reading shows in the pages alone
        counts.push(rowsOf(plan) + plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
      }
      return counts;
    }),
});
