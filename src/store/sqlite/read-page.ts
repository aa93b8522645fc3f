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
  const { hasList, ofAll, ofIds, ofList, findVapidKey } = prepareStatements(database);
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
    const isOfList = hasList.first({ broadcastId })?.has_list === 1;
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
    hasList: database.prepare<{ broadcastId: number }, { has_list: number }>(
      'select has_list from broadcasts where id = :broadcastId',
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
    // a member is a stored subscription, which may have been removed, or is in the list itself
    ofList: database.prepare<
      { broadcastId: number; afterPosition: number; throughPosition: number; limit: number },
      RecipientRow
    >(
      `
        select m.position, m.subscription_id,
               coalesce(m.endpoint, s.endpoint),
               hex(coalesce(m.p256dh, s.p256dh)) || hex(coalesce(m.auth, s.auth)),
               coalesce(s.vapid_key_id, (select vapid_key_id from subscriptions where endpoint = m.endpoint)),
               s.updated_at_ms
        from broadcasts b
        join audience_members m on m.audience_id = b.audience_id
        left join subscriptions s on s.id = m.subscription_id
        where b.id = :broadcastId
          and m.position > :afterPosition and m.position <= :throughPosition
          and (m.endpoint is not null or s.id is not null)
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
