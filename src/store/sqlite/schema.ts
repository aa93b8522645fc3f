// The tables as Kysely sees them, in step with the newest migration. Columns read as they stand in SQL.
import type { Generated } from 'kysely';

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

export interface Schema {
  vapid_keys: VapidKeysTable;
  subscriptions: SubscriptionsTable;
  users: UsersTable;
}
