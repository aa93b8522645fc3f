// The tables as Kysely sees them, in step with the newest migration. Columns read as they stand in SQL.
import type { Generated } from 'kysely';
import type { BroadcastState, Settlement } from '../broadcast-store.ts';

export interface VapidKeysTable {
  id: Generated<number>;
  /** 87 characters of base64url. */
  public_key: string;
}

export interface SubscriptionsTable {
  id: Generated<number>;
  endpoint: string;
  p256dh: Uint8Array;
  auth: Uint8Array;
  vapid_key_id: number;
  created_at_ms: number;
  /** Grows with every change of the row, even within one millisecond. */
  updated_at_ms: number;
}

export interface UsersTable {
  id: bigint;
  name: string;
  email: string;
}

export interface AudiencesTable {
  id: Generated<number>;
  members: Generated<number>;
  created_at_ms: number;
}

export interface AudienceMembersTable {
  audience_id: number;
  position: number;
  subscription_id: number | null;
  endpoint: string | null;
  p256dh: Uint8Array | null;
  auth: Uint8Array | null;
}

export interface BroadcastsTable {
  id: Generated<number>;
  idempotency_key: string | null;
  content_hash: Uint8Array;
  state: BroadcastState;
  payload: Uint8Array;
  ttl_seconds: number;
  urgency: string;
  topic: string | null;
  audience_id: number | null;
  /** 0: all subscriptions up to the last one at creation; 1: the list `audience_id`. */
  has_list: number;
  audience: number;
  created_at_ms: number;
  start_at_ms: number;
  expires_at_ms: number;
  finished_at_ms: number | null;
  expired_unread: Generated<number>;
  logged_accepted: Generated<number>;
  logged_others: Generated<number>;
}

export interface SlicesTable {
  broadcast_id: number;
  number: number;
  cursor: number;
  through_position: number;
  token: string | null;
  lease_until_ms: Generated<number>;
}

export interface RetriesTable {
  broadcast_id: number;
  position: number;
  due_at_ms: number;
  attempts: number;
  deferrals: number;
  expires_at_ms: number;
  token: string | null;
}

export interface BroadcastOriginsTable extends Record<Settlement, number> {
  broadcast_id: number;
  origin: string;
  attempts: number;
}

export interface AlarmsTable {
  broadcast_id: number;
  origin: string;
  reason: string;
  detail: string;
  first_at_ms: number;
  rows: number;
}

export interface AttemptsTable {
  id: Generated<number>;
  broadcast_id: number;
  subscription_id: number | null;
  at_ms: number;
  origin: string;
  attempt: number;
  outcome: string;
  status: number | null;
  reason: string | null;
  detail: string | null;
}

export interface Schema {
  vapid_keys: VapidKeysTable;
  subscriptions: SubscriptionsTable;
  users: UsersTable;
  audiences: AudiencesTable;
  audience_members: AudienceMembersTable;
  broadcasts: BroadcastsTable;
  slices: SlicesTable;
  retries: RetriesTable;
  broadcast_origins: BroadcastOriginsTable;
  alarms: AlarmsTable;
  attempts: AttemptsTable;
}
