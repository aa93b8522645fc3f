// Reads the rows of an audience by position: of all subscriptions, where the position is the id, or of a list.
import type { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Recipient } from '../broadcast-store.ts';
import { parameter, prepare, queries, written } from './statement.ts';

export interface Recipients {
  /** Rows with `afterPosition < position ≤ throughPosition`, in order; those removed meanwhile are left out. */
  page(
    broadcastId: number,
    afterPosition: number,
    throughPosition: number,
    limit: number,
  ): readonly Recipient[];
  at(broadcastId: number, position: number): Recipient | undefined;
}

interface RecipientRow {
  readonly position: number;
  readonly subscription_id: number | null;
  readonly endpoint: string;
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
  readonly public_key: string | null;
  readonly updated_at_ms: number | null;
}

export function createRecipients(database: DatabaseSync): Recipients {
  const { hasList, ofAll, ofList } = prepareStatements(database);
  const page: Recipients['page'] = (broadcastId, afterPosition, throughPosition, limit) => {
    const statement = hasList.first({ broadcastId })?.has_list === 1 ? ofList : ofAll;
    return statement.all({ broadcastId, afterPosition, throughPosition, limit }).map(toRecipient);
  };
  return {
    page,
    at: (broadcastId, position) => page(broadcastId, position - 1, position, 1)[0],
  };
}

function toRecipient(row: RecipientRow): Recipient {
  return {
    position: row.position,
    ...(row.subscription_id === null ? {} : { subscriptionId: row.subscription_id }),
    endpoint: row.endpoint,
    p256dh: row.p256dh,
    auth: row.auth,
    ...(row.public_key === null ? {} : { vapidPublicKey: row.public_key }),
    updatedAtMs: row.updated_at_ms ?? 0,
  };
}

function prepareStatements(database: DatabaseSync) {
  const afterPosition = parameter<number>('afterPosition');
  const throughPosition = parameter<number>('throughPosition');
  const limit = parameter<number>('limit');
  return {
    hasList: prepare(
      database,
      queries.selectFrom('broadcasts').select('has_list').where('id', '=', parameter<number>('broadcastId')),
    ),
    ofAll: prepare(
      database,
      written(
        sql<RecipientRow>`
          select s.id as position, s.id as subscription_id, s.endpoint, s.p256dh, s.auth, v.public_key,
                 s.updated_at_ms
          from subscriptions s join vapid_keys v on v.id = s.vapid_key_id
          where s.id > ${afterPosition} and s.id <= ${throughPosition}
          order by s.id
          limit ${limit}
        `,
      ),
    ),
    // a member is a stored subscription, which may be gone by now, or stands in the list itself
    ofList: prepare(
      database,
      written(
        sql<RecipientRow>`
          select m.position, m.subscription_id,
                 coalesce(m.endpoint, s.endpoint) as endpoint,
                 coalesce(m.p256dh, s.p256dh) as p256dh,
                 coalesce(m.auth, s.auth) as auth,
                 v.public_key, s.updated_at_ms
          from broadcasts b
          join audience_members m on m.audience_id = b.audience_id
          left join subscriptions s on s.id = m.subscription_id
          left join vapid_keys v on v.id = s.vapid_key_id
          where b.id = ${parameter<number>('broadcastId')}
            and m.position > ${afterPosition} and m.position <= ${throughPosition}
            and (m.endpoint is not null or s.id is not null)
          order by m.position
          limit ${limit}
        `,
      ),
    ),
  };
}
