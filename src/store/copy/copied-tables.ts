// What is copied from one database to another: every table, in the order in which it is written. A test holds the list
// against both schemas, so that a migration cannot forget it.
import { broadcastTables } from './broadcast-tables.ts';
import type { CopiedTable } from './copied-table.ts';
import { countTables } from './count-tables.ts';
import { partitioned } from './partitioned-audiences.ts';
import { operatorTables } from './operator-tables.ts';
import { subscriptionTables } from './subscription-tables.ts';

/** Tables that are not copied, and why. */
export const leftOutTables = {
  sqlite: {
    users: 'the example API had its users here once',
    senders: 'processes report again where they run',
    console_sessions: 'operators sign in again',
    subscription_tags: 'written with their subscriptions',
    held_origins: 'counted anew',
    waiting_rows: 'counted by triggers',
  },
  postgres: {
    schema_version: 'of the schema, not of the data',
    senders: 'processes report again where they run',
    console_sessions: 'operators sign in again',
    subscription_counts: 'counted by triggers',
    waiting_rows: 'counted by triggers',
    held_marks: 'counted by triggers',
    client_requests: 'of the last minutes, and of this database alone',
  },
} as const;

/** Whose ids are never given out again, not even those of deleted rows. */
export const sequences = ['audiences', 'audit', 'broadcasts', 'operators', 'schedules', 'subscriptions'];

const sequenceTable: CopiedTable = {
  name: 'sequences',
  columns: { name: 'text', last: 'integer' },
  order: ['name'],
  sqlite: {
    table: 'sqlite_sequence',
    names: { last: 'seq' },
    from: `(select n.value as name, coalesce(s.seq, 0) as seq
            from json_each('${JSON.stringify(sequences)}') n left join sqlite_sequence s on s.name = n.value) t`,
    before: 'delete from sqlite_sequence',
  },
  postgres: {
    from: `(${sequences
      .map(
        (name) => `
          select '${name}' as name, greatest(case when is_called then last_value else 0 end,
                                             ${name === 'audiences' ? `(select max(audience_id) from ${partitioned.broadcasts})` : '0'}) as last
          from deskbell.${name}_id_seq`,
      )
      .join(' union all ')}) t`,
    insert: `select setval('deskbell.' || r.name || '_id_seq', greatest(r.last, 1), r.last > 0)`,
  },
};

export const copiedTables: readonly CopiedTable[] = [
  ...subscriptionTables,
  ...broadcastTables,
  ...countTables,
  // its last table comes after all that triggers would tell a webhook of
  ...operatorTables,
  sequenceTable,
];

/** A key that no subscription uses is there once a database was opened; it makes way for those of the source. */
const mayHaveRows = new Set(['vapid_keys', 'sequences']);

/** The tables of a database that must have no row before a copy begins. */
export const tablesToBeEmpty = (database: 'sqlite' | 'postgres'): ReadonlySet<string> =>
  new Set(
    copiedTables
      .filter(({ name }) => !mayHaveRows.has(name))
      .map((table) => table[database]?.table ?? table.name),
  );
