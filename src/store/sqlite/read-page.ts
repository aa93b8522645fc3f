// Reads the rows of an audience by position: of all subscriptions and of some by id, where the position is the id, or of a list.
import { pointBytes } from '../../protocol/p256.ts';
import { authBytes } from '../../protocol/subscription.ts';
import type { Recipient } from '../broadcasts.ts';
import type { SqliteDatabase } from './database.ts';

export interface PageReader {
  /** Rows with `afterPosition < position ≤ throughPosition`, in order; those removed meanwhile are left out. */
  page(
    broadcastId: number,
    afterPosition: number,
    throughPosition: number,
    limit: number,
  ): readonly Recipient[];
  /** Those with these ids, in order; those removed meanwhile are left out. */
  byIds(ids: readonly number[], limit: number): readonly Recipient[];
  at(broadcastId: number, position: number): Recipient | undefined;
}

/** The keys come as text: blobs are buffers outside of the heap, which cost more than reading the rest of a row. */
type RecipientRow = readonly [
  position: number,
  subscriptionId: number | null,
  endpoint: string,
  p256dhAndAuth: string,
  vapidKeyId: number | null,
  updatedAtMs: number | null,
];

export function createPageReader(database: SqliteDatabase): PageReader {
  const { rowsIn, ofAll, ofIds, ofList, findVapidKey } = prepareStatements(database);
  const vapidKeys = new Map<number, string>();

  const vapidPublicKey = (id: number): string | undefined => {
    let key = vapidKeys.get(id);
    if (key === undefined) {
      key = findVapidKey.first({ id })?.public_key;
      if (key !== undefined) vapidKeys.set(id, key);
    }
    return key;
  };

  const toRecipient = (row: RecipientRow): Recipient => {
    const [position, subscriptionId, endpoint, p256dhAndAuth, vapidKeyId, updatedAtMs] = row;
    const { buffer, byteOffset } = Buffer.from(p256dhAndAuth, 'hex');
    return {
      position,
      subscriptionId: subscriptionId ?? undefined,
      endpoint,
      p256dh: new Uint8Array(buffer, byteOffset, pointBytes),
      auth: new Uint8Array(buffer, byteOffset + pointBytes, authBytes),
      vapidPublicKey: vapidKeyId === null ? undefined : vapidPublicKey(vapidKeyId),
      updatedAtMs: updatedAtMs ?? 0,
    };
  };

  const page: PageReader['page'] = (broadcastId, afterPosition, throughPosition, limit) => {
    const range = { afterPosition, throughPosition, limit };
    const isOfList = rowsIn.first({ broadcastId })?.rows_in === 'list';
    const rows = isOfList ? ofList.all({ broadcastId, ...range }) : ofAll.all(range);
    return rows.map(toRecipient);
  };
  return {
    page,
    byIds: (ids, limit) => ofIds.all({ ids: JSON.stringify(ids), limit }).map(toRecipient),
    at: (broadcastId, position) => page(broadcastId, position - 1, position, 1)[0],
  };
}

function prepareStatements(database: SqliteDatabase) {
  return {
    rowsIn: database.prepare<{ broadcastId: number }, { rows_in: string }>(
      'select rows_in from broadcasts where id = :broadcastId',
    ),
    ofAll: database.prepare<{ afterPosition: number; throughPosition: number; limit: number }, RecipientRow>(
      `
        select s.id, s.id, s.endpoint, hex(s.p256dh) || hex(s.auth), s.vapid_key_id, s.updated_at_ms
        from subscriptions s
        where s.id > :afterPosition and s.id <= :throughPosition
        order by s.id
        limit :limit
      `,
      { arrays: true },
    ),
    ofIds: database.prepare<{ ids: string; limit: number }, RecipientRow>(
      `
        select s.id, s.id, s.endpoint, hex(s.p256dh) || hex(s.auth), s.vapid_key_id, s.updated_at_ms
        from json_each(:ids) i cross join subscriptions s on s.id = i.value
        limit :limit
      `,
      { arrays: true },
    ),
    // a member may be a stored subscription, too
    ofList: database.prepare<
      { broadcastId: number; afterPosition: number; throughPosition: number; limit: number },
      RecipientRow
    >(
      `
        select m.position, null, m.endpoint, hex(m.p256dh) || hex(m.auth), s.vapid_key_id, null
        from broadcasts b
        join audience_members m on m.audience_id = b.audience_id
        left join subscriptions s on s.endpoint = m.endpoint
        where b.id = :broadcastId and m.position > :afterPosition and m.position <= :throughPosition
        order by m.position
        limit :limit
      `,
      { arrays: true },
    ),
    findVapidKey: database.prepare<{ id: number }, { public_key: string }>(
      'select public_key from vapid_keys where id = :id',
    ),
  };
}
