// Copied tables: subscriptions, the keys that they were made with, and what became of those that are gone.
import type { CopiedTable } from './copied-table.ts';
import { continueIds, sumsOf } from './table-sql.ts';

export const subscriptionTables: readonly CopiedTable[] = [
  {
    name: 'vapid_keys',
    columns: { id: 'integer', public_key: 'text', state: 'text', subscriptions: 'integer' },
    order: ['id'],
    sqlite: { made: ['subscriptions'] },
    postgres: {
      read: {
        subscriptions: `(select coalesce(sum(c.subscriptions), 0) from deskbell.subscription_counts c
                         where c.vapid_key_id = t.id)`,
      },
      made: ['subscriptions'],
      after: continueIds('vapid_keys'),
    },
  },
  {
    name: 'subscriptions',
    columns: {
      id: 'integer',
      endpoint: 'text',
      endpoint_hash: 'uuid',
      p256dh: 'bytes',
      auth: 'bytes',
      vapid_key_id: 'integer',
      created_at_ms: 'integer',
      updated_at_ms: 'integer',
      user_name: 'text',
      tags: 'json',
    },
    order: ['id'],
    sqlite: {
      names: { user_name: 'user' },
      read: {
        endpoint_hash: 'endpoint_hash(t.endpoint)',
        tags: `(select iif(count(*) = 0, null, json_group_array(tag order by tag)) from subscription_tags
                where subscription_id = t.id)`,
      },
      made: ['endpoint_hash', 'tags'],
      also: 'insert into subscription_tags (tag, subscription_id) select value, :id from json_each(:tags)',
    },
    postgres: {
      read: { tags: 'to_json(t.tags)' },
      write: {
        tags: '(select array_agg(tag) from json_array_elements_text(r.tags::json) tag)',
      },
    },
  },
  {
    name: 'subscription_days',
    columns: { day: 'integer', gained: 'integer', lost: 'integer' },
    order: ['day'],
    // triggers have counted what was written just now
    sqlite: { before: 'delete from subscription_days' },
    postgres: {
      from: `(select day, ${sumsOf(['gained', 'lost'])} from deskbell.subscription_days group by day) t`,
      added: { shard: '0' },
      before: 'delete from deskbell.subscription_days',
    },
  },
  {
    name: 'gone_marks',
    columns: {
      subscription_id: 'integer',
      endpoint_hash: 'uuid',
      origin: 'text',
      answer_window: 'integer',
      marked_at_ms: 'integer',
      is_held: 'boolean',
    },
    order: ['subscription_id'],
    sqlite: {
      from: 'gone_marks t join subscriptions s on s.id = t.subscription_id',
      read: { endpoint_hash: 'endpoint_hash(s.endpoint)' },
      made: ['endpoint_hash'],
      after: `
        delete from held_origins;
        insert into held_origins (origin, subscriptions, since_ms)
          select origin, count(*), min(marked_at_ms) from gone_marks where is_held = 1 group by origin`,
    },
    postgres: {
      from: `deskbell.gone_marks t
             join deskbell.subscriptions s on s.endpoint_hash = t.endpoint_hash and s.id = t.subscription_id`,
    },
  },
  {
    name: 'answer_windows',
    columns: { origin: 'text', number: 'integer', answers: 'integer', accepted: 'integer' },
    order: ['origin', 'number'],
  },
  {
    name: 'few_deletions',
    columns: { origin: 'text', rows: 'integer' },
    order: ['origin'],
  },
  {
    name: 'ended_subscriptions',
    columns: { id: 'integer', endpoint: 'text', user_name: 'text', gone_at_ms: 'integer' },
    order: ['id'],
  },
];
