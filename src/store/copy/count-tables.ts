// Copied tables: what came of broadcasts, what browsers reported, and what is left of rate limits.
import { outcomeColumns } from '../outcome-columns.ts';
import type { CopiedTable, Kind } from './copied-table.ts';
import { ofBroadcasts, sumsOf } from './table-sql.ts';

const counts = Object.fromEntries(outcomeColumns.map((column): [string, Kind] => [column, 'integer']));
const sumOfCounts = sumsOf(outcomeColumns);

export const countTables: readonly CopiedTable[] = [
  {
    name: 'broadcast_origins',
    columns: { broadcast_id: 'integer', origin: 'text', ...counts },
    order: ['broadcast_id', 'origin'],
    postgres: {
      table: 'origin_counts',
      from: `(select t.broadcast_id, t.origin, ${sumOfCounts} from ${ofBroadcasts('origin_counts')} group by 1, 2) t`,
      added: { shard: '0' },
    },
  },
  {
    name: 'outcome_intervals',
    columns: { width_ms: 'integer', start_ms: 'integer', push_service: 'text', ...counts },
    order: ['width_ms', 'start_ms', 'push_service'],
    postgres: {
      from: `(select width_ms, start_ms, push_service, ${sumOfCounts} from deskbell.outcome_intervals
              where broadcast_id = 0 group by 1, 2, 3) t`,
      added: { broadcast_id: '0', shard: '0' },
    },
  },
  {
    name: 'broadcast_intervals',
    columns: {
      broadcast_id: 'integer',
      start_ms: 'integer',
      push_service: 'text',
      width_ms: 'integer',
      ...counts,
    },
    order: ['broadcast_id', 'start_ms', 'push_service'],
    postgres: {
      table: 'outcome_intervals',
      from: `(select t.broadcast_id, t.start_ms, t.push_service, min(t.width_ms) as width_ms, ${sumOfCounts}
              from ${ofBroadcasts('outcome_intervals')} group by 1, 2, 3) t`,
      added: { shard: '0' },
    },
  },
  {
    name: 'receipt_windows',
    columns: { broadcast_id: 'integer', ends_at_ms: 'integer' },
    order: ['broadcast_id'],
    postgres: { from: ofBroadcasts('receipt_windows') },
  },
  {
    name: 'receipts',
    columns: { broadcast_id: 'integer', subscription_id: 'integer', event: 'text' },
    order: ['broadcast_id', 'subscription_id', 'event'],
    postgres: { from: ofBroadcasts('receipts') },
  },
  {
    name: 'receipt_counts',
    columns: { broadcast_id: 'integer', origin: 'text', event: 'text', action: 'text', count: 'integer' },
    order: ['broadcast_id', 'origin', 'event', 'action'],
    postgres: {
      from: `(select t.broadcast_id, t.origin, t.event, t.action, ${sumsOf(['count'])}
              from ${ofBroadcasts('receipt_counts')} group by 1, 2, 3, 4) t`,
      added: { shard: '0' },
    },
  },
  {
    name: 'rate_limits',
    columns: {
      origin: 'text',
      permits: 'real',
      refilled_at_ms: 'integer',
      queued_until_ms: 'integer',
      sent_at_ms: 'integer',
    },
    order: ['origin'],
  },
];
