// Reads the rows of an audience by position. For subscriptions, the position is the id; a list has its own positions.
import { parsePerPerson } from '../../audience/frequency-cap.ts';
import { pointBytes } from '../../protocol/p256.ts';
import { authBytes } from '../../protocol/subscription.ts';
import type { Broadcast, Recipient } from '../broadcasts.ts';
import type { SqliteDatabase } from './database.ts';

/** Keys are read as text, because blobs become buffers outside of the heap, which cost more than the rest of a row. */
type RecipientRow = readonly [
  position: number,
  subscriptionId: number | null,
  endpoint: string,
  p256dhAndAuth: string,
  vapidKeyId: number | null,
  updatedAtMs: number | null,
];

export function createPageReader(database: SqliteDatabase) {
  const vapidKeys = new Map<number, string>();

  const vapidPublicKey = (id: number): string | undefined => {
    let key = vapidKeys.get(id);
    if (key === undefined) {
      key = database.first<{ key: string }>(selectVapidKey, { id })?.key;
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

  /** Returns rows with `afterPosition < position ≤ throughPosition`, in order. Rows that were removed are left out. */
  const page = (
    broadcastId: number,
    afterPosition: number,
    throughPosition: number,
    limit: number,
  ): readonly Recipient[] => {
    const range = { afterPosition, throughPosition, limit };
    const isOfList = database.first(findList, { broadcastId }) !== undefined;
    const rows = isOfList
      ? database.tuples<RecipientRow>(selectOfList, { broadcastId, ...range })
      : database.tuples<RecipientRow>(selectOfAll, range);
    return rows.map(toRecipient);
  };
  return {
    page,
    /** Returns the rows with these ids, in order. Rows that were removed in the meantime are left out. */
    byIds: (ids: readonly number[], limit: number): readonly Recipient[] =>
      database.tuples<RecipientRow>(selectOfIds, { ids: JSON.stringify(ids), limit }).map(toRecipient),
    at: (broadcastId: number, position: number) => page(broadcastId, position - 1, position, 1)[0],
  };
}

const selectVapidKey = 'select public_key as key from vapid_keys where id = :id';

const findList = "select 1 from broadcasts where id = :broadcastId and rows_in = 'list'";

const columns = 's.id, s.id, s.endpoint, hex(s.p256dh) || hex(s.auth), s.vapid_key_id, s.updated_at_ms';

const selectOfAll = `
  select ${columns} from subscriptions s
  where s.id > :afterPosition and s.id <= :throughPosition
  order by s.id limit :limit`;

const selectOfIds = `
  select ${columns} from json_each(:ids) i cross join subscriptions s on s.id = i.value
  limit :limit`;

// a member of a list may also be a stored subscription
const selectOfList = `
  select m.position, null, m.endpoint, hex(m.p256dh) || hex(m.auth), s.vapid_key_id, null
  from broadcasts b
  join audience_members m on m.audience_id = b.audience_id
  left join subscriptions s on s.endpoint = m.endpoint
  where b.id = :broadcastId and m.position > :afterPosition and m.position <= :throughPosition
  order by m.position limit :limit`;

// Counts how many times people were contacted by broadcasts with a cap, in SQLite. A contact is reserved when a page is
// read, and kept once a message is accepted.

export type FrequencyCaps = ReturnType<typeof createFrequencyCaps>;

/** Call these functions inside a transaction. */
export function createFrequencyCaps(database: SqliteDatabase) {
  const findPerson = ({ endpoint }: Recipient): string | undefined =>
    database.first<{ person: string }>(
      `select coalesce('user:' || user_name, 'subscription:' || id) as person
       from subscriptions where endpoint = :endpoint`,
      { endpoint },
    )?.person;

  /** @returns the rows of a page; a row is capped if its person has been contacted often enough */
  const reserve = (
    { id: broadcastId, perPerson }: Broadcast,
    rows: readonly Recipient[],
  ): readonly Recipient[] => {
    if (perPerson === undefined) return rows;
    const { maxContacts, windowMs } = parsePerPerson(perPerson);
    const nowMs = database.now();
    const sinceMs = nowMs - windowMs;
    const isCapped = (recipient: Recipient): boolean => {
      const person = findPerson(recipient);
      if (person === undefined || database.first(findContact, { person, broadcastId }) !== undefined)
        return false;
      const { contacts } = database.first<{ contacts: number }>(countContacts, { person, sinceMs })!;
      if (contacts >= maxContacts) return true;
      database.run(
        `insert into person_reaches (person, broadcast_id, at_ms, is_accepted)
         values (:person, :broadcastId, :nowMs, 0)`,
        { person, broadcastId, nowMs },
      );
      return false;
    };
    return rows.map((row) => (isCapped(row) ? { ...row, isCapped: true } : row));
  };

  return {
    reserve,
    accept: (broadcastId: number, recipient: Recipient, nowMs: number) => {
      const person = findPerson(recipient);
      if (person === undefined) return;
      database.run(
        `insert into person_reaches (person, broadcast_id, at_ms, is_accepted)
         values (:person, :broadcastId, :nowMs, 1)
         on conflict (person, broadcast_id) do update set at_ms = excluded.at_ms, is_accepted = 1 where is_accepted = 0`,
        { person, broadcastId, nowMs },
      );
    },
  };
}

const findContact = 'select 1 from person_reaches where person = :person and broadcast_id = :broadcastId';

const countContacts = `
  select count(*) as contacts from person_reaches r
  where r.person = :person and case r.is_accepted
    when 1 then r.at_ms > :sinceMs
    else exists (select 1 from broadcasts b where b.id = r.broadcast_id and b.finished_at_ms is null)
  end`;
