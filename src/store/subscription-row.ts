// A row of a subscription, as every database gives it.
import type { Choices } from '../audience/channels.ts';
import type { StoredSubscription } from './subscriptions.ts';

export interface SubscriptionRow {
  readonly id: number;
  readonly endpoint: string;
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
  readonly public_key: string;
  readonly created_at_ms: number;
  /** When its browser was here last; less than `created_at_ms` for one that was imported and has not been here since. */
  readonly updated_at_ms: number;
  readonly user_name: string | null;
  readonly language: string | null;
  readonly time_zone: string | null;
  /** JSON */
  readonly channels: string | null;
}

/** @param channels as they are stored */
export const readChoices = (channels: string | null): Choices =>
  channels === null ? {} : (JSON.parse(channels) as Choices);

export const toSubscription = (row: SubscriptionRow, tags: readonly string[]): StoredSubscription => ({
  id: row.id,
  endpoint: row.endpoint,
  p256dh: row.p256dh,
  auth: row.auth,
  vapidPublicKey: row.public_key,
  createdAtMs: row.created_at_ms,
  updatedAtMs: Math.max(row.updated_at_ms, row.created_at_ms),
  user: row.user_name ?? undefined,
  tags,
  language: row.language ?? undefined,
  timeZone: row.time_zone ?? undefined,
  channels: readChoices(row.channels),
});
