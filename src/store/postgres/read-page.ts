// Parses rows of audiences as the database's functions return them.
import { pointBytes } from '../../protocol/p256.ts';
import { authBytes } from '../../protocol/subscription.ts';
import type { Recipient } from '../broadcasts.ts';
import type { PostgresDatabase } from './database.ts';

/** A whole page as one row of text. The values are null if the page is empty. */
export interface PageRow {
  readonly positions: string | null;
  /** Ids, separated by commas. Null if the ids equal the positions. Empty if no row has an id. */
  readonly subscription_ids: string | null;
  /** One endpoint per line. */
  readonly endpoints: string;
  /** The keys of all subscriptions, as one string of hexadecimal digits. */
  readonly keys: string;
  readonly vapid_key_ids: string;
  readonly updated_at_ms: string;
}

export interface RecipientRow {
  readonly position: number;
  readonly subscription_id: number | null;
  readonly endpoint: string;
  readonly keys: string;
  readonly vapid_key_id: number | null;
  readonly updated_at_ms: number | null;
}

const bytesOfKeys = pointBytes + authBytes;

/** Short, because after the database is restored, a key's id may belong to another key. */
const keepKeysMs = 5000;

export function createPageReader(database: PostgresDatabase) {
  let vapidKeys: ReadonlyMap<number, string> = new Map();
  let readAtMs = Number.NEGATIVE_INFINITY;

  /** Reads all keys again if a key is unknown, or if the last read was a while ago. */
  const loadVapidKeys = async (ids: Iterable<number | undefined>): Promise<void> => {
    const isMissing = [...new Set(ids)].some((id) => id !== undefined && !vapidKeys.has(id));
    const nowMs = database.clock.now();
    if (!isMissing && nowMs - readAtMs < keepKeysMs) return;
    const rows = await database.query<{ readonly id: number; readonly public_key: string }>(
      'select id, public_key from deskbell.vapid_keys',
    );
    vapidKeys = new Map(rows.map(({ id, public_key }) => [id, public_key]));
    readAtMs = nowMs;
  };

  const keyOf = (id: number | undefined): string | undefined =>
    id === undefined ? undefined : vapidKeys.get(id);

  return {
    ofPage: async (page: PageRow | undefined): Promise<readonly Recipient[]> => {
      if (page === undefined || page.positions === null) return [];
      const positions = page.positions.split(',');
      const subscriptionIds = page.subscription_ids?.split(',') ?? positions;
      const endpoints = page.endpoints.split('\n');
      const vapidKeyIds = page.vapid_key_ids.split(',').map(numberOf);
      const updatedAt = page.updated_at_ms.split(',');
      const { buffer, byteOffset } = Buffer.from(page.keys, 'hex');
      await loadVapidKeys(vapidKeyIds);
      return positions.map((position, index): Recipient => {
        const keysAt = byteOffset + index * bytesOfKeys;
        return {
          position: Number(position),
          subscriptionId: numberOf(subscriptionIds[index] ?? ''),
          endpoint: endpoints[index] ?? '',
          p256dh: new Uint8Array(buffer, keysAt, pointBytes),
          auth: new Uint8Array(buffer, keysAt + pointBytes, authBytes),
          vapidPublicKey: keyOf(vapidKeyIds[index]),
          updatedAtMs: numberOf(updatedAt[index] ?? '') ?? 0,
        };
      });
    },

    of: async <Row extends RecipientRow>(rows: readonly Row[]) => {
      await loadVapidKeys(rows.map(({ vapid_key_id }) => vapid_key_id ?? undefined));
      return rows.map((row) => {
        const { buffer, byteOffset } = Buffer.from(row.keys, 'hex');
        return {
          row,
          position: row.position,
          subscriptionId: row.subscription_id ?? undefined,
          endpoint: row.endpoint,
          p256dh: new Uint8Array(buffer, byteOffset, pointBytes),
          auth: new Uint8Array(buffer, byteOffset + pointBytes, authBytes),
          vapidPublicKey: keyOf(row.vapid_key_id ?? undefined),
          updatedAtMs: row.updated_at_ms ?? 0,
        };
      });
    },
  };
}

const numberOf = (text: string): number | undefined => (text === '' ? undefined : Number(text));
