// What is copied from one database to another: every table, in the order in which it is written. A test holds the list
// against both schemas, so that a migration cannot forget a table, or a column that has another form in one of them.
import { tableIn, type CopiedTable, type DatabaseKind } from './copied-table.ts';
import {
  freeFrom,
  isOpen,
  partitioned,
  partitionedAudiences,
  partitionedMembers,
  partitionedRetries,
  partitionedSlices,
} from './partitioned-audiences.ts';

/** Tables that are not copied, and why. */
export const leftOutTables = {
  sqlite: {
    users: 'the example API had its users here once',
    senders: 'processes report again where they run',
    console_sessions: 'operators sign in again',
    subscription_tags: 'written with their subscriptions',
    held_origins: 'counted anew',
    waiting_rows: 'counted by triggers',
    work: 'made by triggers of the broadcasts',
  },
  postgres: {
    schema_version: 'of the schema, not of the data',
    senders: 'processes report again where they run',
    console_sessions: 'operators sign in again',
    subscription_counts: 'counted by triggers',
    waiting_rows: 'counted by triggers',
    work: 'made by triggers of the broadcasts',
    held_marks: 'counted by triggers',
    commits: 'no call goes on from one database to another',
    unlocked_answers: 'of the last hundred answers; those of windows are copied',
    client_requests: 'of the last minutes, and of this database alone',
  },
} as const;

/** Whose ids are never given out again, not even those of deleted rows. */
export const sequences = [
  'audiences',
  'audit',
  'broadcasts',
  'operators',
  'removals',
  'schedules',
  'subscriptions',
];

/** Rows `t` of PostgreSQL; a broadcast may have been deleted while rows of it were written. */
const ofBroadcasts = (table: string): string =>
  `deskbell.${table} t join deskbell.broadcasts b on b.id = t.broadcast_id`;

const ofAudiences = (table: string): string =>
  `deskbell.${table} t join deskbell.audiences a on a.id = t.audience_id`;

/** Ids that are given out next follow those that are there. */
const continueIds = (table: string): string => `
  select setval('deskbell.${table}_id_seq', greatest(max(id), 1), max(id) is not null) from deskbell.${table}`;

const subscriptionTables: readonly CopiedTable[] = [
  {
    name: 'vapid_keys',
    counted: ['subscriptions'],
    postgres: {
      read: {
        subscriptions: `(select coalesce(sum(c.subscriptions), 0) from deskbell.subscription_counts c
                         where c.vapid_key_id = t.id)`,
      },
      after: continueIds('vapid_keys'),
    },
  },
  {
    name: 'subscriptions',
    sqlite: {
      read: {
        endpoint_hash: 'endpoint_hash(t.endpoint)',
        tags: `sorted_json((select iif(count(*) = 0, null, json_group_array(tag order by tag)) from subscription_tags
                            where subscription_id = t.id))`,
      },
      also: 'insert into subscription_tags (tag, subscription_id) select value, :id from json_each(:tags)',
    },
    postgres: {
      names: { user: 'user_name' },
      write: { tags: '(select array_agg(tag) from json_array_elements_text(r.tags::json) tag)' },
    },
  },
  {
    name: 'subscription_days',
    // triggers have counted what was written just now
    sqlite: { before: 'delete from subscription_days' },
    postgres: { isSharded: true, before: 'delete from deskbell.subscription_days' },
  },
  {
    name: 'gone_marks',
    sqlite: {
      from: 'gone_marks t join subscriptions s on s.id = t.subscription_id',
      read: { endpoint_hash: 'endpoint_hash(s.endpoint)' },
      after: `
        insert or replace into held_origins (origin, subscriptions, since_ms)
          select origin, count(*), min(marked_at_ms) from gone_marks where is_held = 1 group by origin`,
    },
    postgres: {
      from: `deskbell.gone_marks t
             join deskbell.subscriptions s on s.endpoint_hash = t.endpoint_hash and s.id = t.subscription_id`,
    },
  },
  { name: 'answer_windows' },
  { name: 'few_deletions' },
  { name: 'ended_subscriptions' },
  { name: 'unlisted_push_services' },
  { name: 'people' },
  { name: 'channels' },
];

const broadcastTables: readonly CopiedTable[] = [
  { name: 'audiences', postgres: { from: `(${partitionedAudiences}) t` } },
  {
    name: 'audience_members',
    sqlite: {
      from: 'audience_members t left join subscriptions s on s.id = t.subscription_id',
      read: { endpoint_hash: 'endpoint_hash(coalesce(t.endpoint, s.endpoint))' },
    },
    postgres: {
      from: `(${partitionedMembers}) t
             left join deskbell.subscriptions s on s.endpoint_hash = t.endpoint_hash and s.id = t.subscription_id`,
      // the hash of an id that is not stored any more is worth nothing
      read: { endpoint_hash: 'case when t.endpoint is null then s.endpoint_hash else t.endpoint_hash end' },
    },
  },
  { name: 'audience_sets', postgres: { from: ofAudiences('audience_sets') } },
  {
    name: 'broadcasts',
    // of processes of a former version
    leftOut: ['logged_accepted', 'logged_others'],
    postgres: {
      from: `deskbell.broadcasts t left join ${partitioned.broadcasts} m on m.broadcast_id = t.id`,
      names: { user: 'user_name', has_list: 'rows_in' },
      read: {
        has_list: `(t.rows_in = 'list' or m.broadcast_id is not null)`,
        audience_id:
          'coalesce(m.audience_id, (select a.id from deskbell.audiences a where a.id = t.audience_id))',
      },
      write: { has_list: `case r.has_list when '1' then 'list' else 'all' end` },
      added: { creation: 'gen_random_uuid()::text' },
    },
  },
  {
    name: 'preparations',
    leftOut: ['token', 'lease_until_ms'],
    postgres: { from: ofBroadcasts('preparations') },
  },
  { name: 'broadcast_texts', postgres: { from: ofBroadcasts('broadcast_texts') } },
  { name: 'push_services', postgres: { after: continueIds('push_services') } },
  { name: 'accepted_subscriptions' },
  {
    // of broadcasts that are not over; whoever held one is gone
    name: 'slices',
    leftOut: ['token', 'last_commit'],
    sqlite: {
      from: `slices t join broadcasts b on b.id = t.broadcast_id and ${isOpen}`,
      read: { lease_until_ms: freeFrom },
    },
    postgres: { from: `(${partitionedSlices}) t` },
  },
  {
    name: 'retries',
    leftOut: ['token'],
    sqlite: {
      from: `retries t join broadcasts b on b.id = t.broadcast_id and ${isOpen}
             left join subscriptions s on b.has_list = 0 and s.id = t.position`,
      read: { endpoint_hash: 'endpoint_hash(s.endpoint)' },
    },
    postgres: partitionedRetries,
  },
  // of broadcasts whose slices are of partitions, what is left is copied as a list
  { name: 'removals', leftOut: ['in_partition'] },
  { name: 'removed_rows', postgres: { from: ofBroadcasts('removed_rows') } },
  { name: 'alarms', postgres: { from: ofBroadcasts('alarms') } },
  { name: 'answers', postgres: { from: ofBroadcasts('answers') } },
  {
    name: 'answer_counts',
    postgres: {
      from: ofBroadcasts('answer_counts'),
      isSharded: true,
      read: { last_at_ms: 'max(t.last_at_ms)' },
    },
  },
  {
    name: 'attempt_sets',
    postgres: { from: ofBroadcasts('attempt_sets'), after: continueIds('attempt_sets') },
  },
  { name: 'person_reaches' },
  {
    name: 'schedules',
    sqlite: { read: { audience: 'sorted_json(t.audience)' } },
    // as it was given, in the order of its members
    postgres: { read: { message: 't.message::text' } },
  },
];

const countTables: readonly CopiedTable[] = [
  {
    name: 'broadcast_origins',
    postgres: { table: 'origin_counts', from: ofBroadcasts('origin_counts'), isSharded: true },
  },
  {
    name: 'outcome_intervals',
    postgres: {
      from: 'deskbell.outcome_intervals t where t.broadcast_id = 0',
      isSharded: true,
      added: { broadcast_id: '0' },
    },
  },
  {
    name: 'broadcast_intervals',
    postgres: {
      table: 'outcome_intervals',
      from: ofBroadcasts('outcome_intervals'),
      isSharded: true,
      read: { width_ms: 'min(t.width_ms)' },
    },
  },
  { name: 'receipt_windows', postgres: { from: ofBroadcasts('receipt_windows') } },
  { name: 'receipts', postgres: { from: ofBroadcasts('receipts') } },
  { name: 'receipt_counts', postgres: { from: ofBroadcasts('receipt_counts'), isSharded: true } },
  { name: 'rate_limits' },
];

const operatorTables: readonly CopiedTable[] = [
  { name: 'operators' },
  { name: 'operator_broadcasts', postgres: { from: ofBroadcasts('operator_broadcasts') } },
  { name: 'audit' },
  { name: 'acknowledgements' },
  { name: 'sending_pause' },
  { name: 'message_requests', leftOut: ['claim'] },
  { name: 'invitations' },
  { name: 'webhook_events' },
  // after all that triggers would tell a webhook of
  { name: 'webhook_watch' },
];

const sequenceTable: CopiedTable = {
  name: 'sequences',
  order: ['name'],
  sqlite: {
    table: 'sqlite_sequence',
    from: `(select n.value as name, coalesce(s.seq, 0) as seq
            from json_each('${JSON.stringify(sequences)}') n left join sqlite_sequence s on s.name = n.value) t`,
    before: 'delete from sqlite_sequence',
  },
  postgres: {
    from: `(${sequences
      .map(
        (name) => `
          select '${name}' as name, greatest(case when is_called then last_value else 0 end,
                                             ${name === 'audiences' ? `(select max(audience_id) from ${partitioned.broadcasts})` : '0'}) as seq
          from deskbell.${name}_id_seq`,
      )
      .join(' union all ')}) t`,
    insert: `select setval('deskbell.' || r.name || '_id_seq', greatest(r.seq::bigint, 1), r.seq::bigint > 0)`,
  },
};

export const copiedTables: readonly CopiedTable[] = [
  ...subscriptionTables,
  ...broadcastTables,
  ...countTables,
  ...operatorTables,
  sequenceTable,
];

/** A key that no subscription uses is there once a database was opened; it makes way for those of the source. */
const mayHaveRows = new Set(['vapid_keys', 'sequences']);

/** The tables of a database that must have no row before a copy begins. */
export const tablesToBeEmpty = (kind: DatabaseKind): ReadonlySet<string> =>
  new Set(copiedTables.filter(({ name }) => !mayHaveRows.has(name)).map((table) => tableIn(kind, table)));
