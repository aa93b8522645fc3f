// Copied tables: operators, what they have changed, whether they have paused sending, and what their webhook is still to be told.
import type { CopiedTable } from './copied-table.ts';

export const operatorTables: readonly CopiedTable[] = [
  {
    name: 'operators',
    columns: {
      id: 'integer',
      name: 'text',
      role: 'text',
      token_hash: 'bytes',
      created_at_ms: 'integer',
    },
    order: ['id'],
  },
  {
    name: 'audit',
    columns: {
      id: 'integer',
      at_ms: 'integer',
      operator: 'text',
      action: 'text',
      target: 'text',
      status: 'integer',
    },
    order: ['id'],
  },
  {
    name: 'sending_pause',
    columns: { id: 'integer', since_ms: 'integer', reason: 'text', broadcast_ids: 'text' },
    order: ['id'],
  },
  {
    name: 'message_requests',
    columns: { key: 'text', content_hash: 'bytes', at_ms: 'integer', answer: 'text' },
    order: ['key'],
    sqlite: { leftOut: ['claim'] },
    postgres: { leftOut: ['claim'] },
  },
  {
    name: 'webhook_events',
    columns: {
      id: 'text',
      type: 'text',
      at_ms: 'integer',
      due_at_ms: 'integer',
      attempts: 'integer',
      broadcast_id: 'integer',
      subscription_id: 'integer',
      user_name: 'text',
      origin: 'text',
      reason: 'text',
      detail: 'text',
      rows: 'integer',
    },
    order: ['id'],
  },
  {
    // after all that triggers would tell a webhook of
    name: 'webhook_watch',
    columns: { id: 'integer', seen_at_ms: 'integer' },
    order: ['id'],
  },
];
