// Copied tables: broadcasts, whom they are for, what is left of them, and what was tried.
import type { CopiedTable } from './copied-table.ts';
import { moved, movedAudiences, movedMembers, movedRetries, movedSlices } from './moved-audiences.ts';
import { continueIds, isOpen, ofBroadcasts } from './table-sql.ts';

export const broadcastTables: readonly CopiedTable[] = [
  {
    name: 'audiences',
    columns: { id: 'integer', members: 'integer', created_at_ms: 'integer' },
    order: ['id'],
    postgres: { from: `(${movedAudiences}) t` },
  },
  {
    name: 'audience_members',
    columns: {
      audience_id: 'integer',
      position: 'integer',
      subscription_id: 'integer',
      endpoint_hash: 'uuid',
      endpoint: 'text',
      p256dh: 'bytes',
      auth: 'bytes',
    },
    order: ['audience_id', 'position'],
    sqlite: {
      from: 'audience_members t left join subscriptions s on s.id = t.subscription_id',
      read: { endpoint_hash: 'endpoint_hash(coalesce(t.endpoint, s.endpoint))' },
      made: ['endpoint_hash'],
    },
    postgres: {
      from: `(${movedMembers}) t
             left join deskbell.subscriptions s on s.endpoint_hash = t.endpoint_hash and s.id = t.subscription_id`,
      // the hash of an id that is not stored any more is worth nothing
      read: { endpoint_hash: 'case when t.endpoint is null then s.endpoint_hash else t.endpoint_hash end' },
    },
  },
  {
    name: 'broadcasts',
    columns: {
      id: 'integer',
      idempotency_key: 'text',
      content_hash: 'bytes',
      state: 'text',
      payload: 'bytes',
      ttl_seconds: 'integer',
      urgency: 'text',
      topic: 'text',
      audience_id: 'integer',
      user_name: 'text',
      receipt_actions: 'text',
      per_person: 'text',
      has_list: 'boolean',
      audience: 'integer',
      created_at_ms: 'integer',
      start_at_ms: 'integer',
      expires_at_ms: 'integer',
      finished_at_ms: 'integer',
      expired_unread: 'integer',
      logged_accepted: 'integer',
      logged_others: 'integer',
    },
    order: ['id'],
    sqlite: { names: { user_name: 'user' } },
    postgres: {
      from: `deskbell.broadcasts t left join ${moved.broadcasts} m on m.broadcast_id = t.id`,
      names: { has_list: 'rows_in' },
      read: {
        has_list: `(t.rows_in = 'list' or m.broadcast_id is not null)`,
        audience_id:
          'coalesce(m.audience_id, (select a.id from deskbell.audiences a where a.id = t.audience_id))',
      },
      write: { has_list: `case r.has_list when 1 then 'list' else 'all' end` },
      added: { creation: 'gen_random_uuid()::text' },
    },
  },
  {
    name: 'push_services',
    columns: {
      id: 'integer',
      origin: 'text',
      vapid_public_key: 'text',
      refusals_in_row: 'integer',
      refusals_to_hold: 'integer',
      held_since_ms: 'integer',
      probe_at_ms: 'integer',
      draws: 'integer',
      wait_until_ms: 'integer',
    },
    order: ['id'],
    postgres: { after: continueIds('push_services') },
  },
  {
    name: 'accepted_subscriptions',
    columns: { push_service_id: 'integer', slot: 'integer', subscription_id: 'integer' },
    order: ['push_service_id', 'slot'],
  },
  {
    // of broadcasts that are not over; whoever held one is gone
    name: 'slices',
    columns: {
      broadcast_id: 'integer',
      number: 'integer',
      cursor: 'integer',
      through_position: 'integer',
    },
    order: ['broadcast_id', 'number'],
    sqlite: {
      from: `slices t join broadcasts b on b.id = t.broadcast_id and ${isOpen}`,
      leftOut: ['token', 'lease_until_ms'],
    },
    postgres: { from: `(${movedSlices}) t`, leftOut: ['token', 'lease_until_ms', 'last_commit'] },
  },
  {
    name: 'retries',
    columns: {
      broadcast_id: 'integer',
      position: 'integer',
      endpoint_hash: 'uuid',
      due_at_ms: 'integer',
      attempts: 'integer',
      deferrals: 'integer',
      expires_at_ms: 'integer',
      push_service_id: 'integer',
      draw_order: 'integer',
    },
    order: ['broadcast_id', 'position'],
    sqlite: {
      from: `retries t join broadcasts b on b.id = t.broadcast_id and ${isOpen}
             left join subscriptions s on b.has_list = 0 and s.id = t.position`,
      read: { endpoint_hash: 'endpoint_hash(s.endpoint)' },
      made: ['endpoint_hash'],
      leftOut: ['token'],
    },
    postgres: { from: `(${movedRetries}) t`, leftOut: ['token'] },
  },
  {
    name: 'alarms',
    columns: {
      broadcast_id: 'integer',
      origin: 'text',
      reason: 'text',
      detail: 'text',
      first_at_ms: 'integer',
      rows: 'integer',
    },
    order: ['broadcast_id', 'origin', 'reason'],
    postgres: { from: ofBroadcasts('alarms') },
  },
  {
    name: 'attempts',
    columns: {
      id: 'integer',
      broadcast_id: 'integer',
      subscription_id: 'integer',
      at_ms: 'integer',
      origin: 'text',
      attempt: 'integer',
      outcome: 'text',
      status: 'integer',
      reason: 'text',
      detail: 'text',
    },
    order: ['id'],
    postgres: { from: ofBroadcasts('attempts'), after: continueIds('attempts') },
  },
  {
    name: 'person_reaches',
    columns: { person: 'text', broadcast_id: 'integer', at_ms: 'integer', is_accepted: 'boolean' },
    order: ['person', 'broadcast_id'],
  },
  {
    name: 'schedules',
    columns: {
      id: 'integer',
      cron: 'text',
      timezone: 'text',
      audience: 'json',
      user_name: 'text',
      // as it was given, in the order of its members
      message: 'text',
      ttl_seconds: 'integer',
      urgency: 'text',
      topic: 'text',
      receipts: 'boolean',
      per_person: 'text',
      created_at_ms: 'integer',
      next_at_ms: 'integer',
      lease_until_ms: 'integer',
      last_broadcast_id: 'integer',
    },
    order: ['id'],
    sqlite: { names: { user_name: 'user' } },
    postgres: {
      read: { message: 't.message::text' },
      write: { message: 'r.message::json' },
      added: { creation: 'gen_random_uuid()::text' },
    },
  },
];
