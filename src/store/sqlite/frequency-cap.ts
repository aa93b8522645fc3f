// How often persons were contacted by broadcasts with a cap, in SQLite: reserved when a page is read, and kept once a message was accepted.
import type { Broadcast, Recipient } from '../broadcasts.ts';
import { parsePerPerson } from '../../audience/frequency-cap.ts';
import type { SqliteDatabase } from './database.ts';

/** Everything here is to be called inside a transaction. */
export interface FrequencyCaps {
  /** @returns the rows of a page, those of persons who have been reached often enough as capped */
  reserve(broadcast: Broadcast, rows: readonly Recipient[]): readonly Recipient[];
  accept(broadcastId: number, recipient: Recipient, nowMs: number): void;
}

export function createFrequencyCaps(database: SqliteDatabase): FrequencyCaps {
  const findPerson = database.prepare<{ endpoint: string }, { person: string }>(`
    select coalesce('user:' || user_name, 'subscription:' || id) as person from subscriptions where endpoint = :endpoint
  `);
  const findContact = database.prepare<{ person: string; broadcastId: number }, { at_ms: number }>(
    'select at_ms from person_reaches where person = :person and broadcast_id = :broadcastId',
  );
  const count = database.prepare<{ person: string; sinceMs: number }, { reaches: number }>(`
    select count(*) as reaches from person_reaches r
    where r.person = :person and case r.is_accepted
      when 1 then r.at_ms > :sinceMs
      else exists (select 1 from broadcasts b where b.id = r.broadcast_id and b.state in ('running', 'paused'))
    end
  `);
  const reserveOne = database.prepare<{ person: string; broadcastId: number; nowMs: number }>(`
    insert into person_reaches (person, broadcast_id, at_ms, is_accepted) values (:person, :broadcastId, :nowMs, 0)
  `);
  const acceptOne = database.prepare<{ person: string; broadcastId: number; nowMs: number }>(`
    insert into person_reaches (person, broadcast_id, at_ms, is_accepted) values (:person, :broadcastId, :nowMs, 1)
    on conflict (person, broadcast_id) do update set at_ms = excluded.at_ms, is_accepted = 1 where is_accepted = 0
  `);

  const reserve: FrequencyCaps['reserve'] = ({ id: broadcastId, perPerson }, rows) => {
    if (perPerson === undefined) return rows;
    const { maxContacts, windowMs } = parsePerPerson(perPerson);
    const nowMs = database.now();
    const isCapped = ({ endpoint }: Recipient): boolean => {
      const person = findPerson.first({ endpoint })?.person;
      if (person === undefined || findContact.first({ person, broadcastId }) !== undefined) return false;
      const contacts = count.first({ person, sinceMs: nowMs - windowMs })?.reaches ?? 0;
      if (contacts >= maxContacts) return true;
      reserveOne.run({ person, broadcastId, nowMs });
      return false;
    };
    return rows.map((row) => (isCapped(row) ? { ...row, isCapped: true } : row));
  };

  return {
    reserve,
    accept: (broadcastId, { endpoint }, nowMs) => {
      const person = findPerson.first({ endpoint })?.person;
      if (person !== undefined) acceptOne.run({ person, broadcastId, nowMs });
    },
  };
}
