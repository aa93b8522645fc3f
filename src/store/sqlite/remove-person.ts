// Deletes all that the database knows of a person, in one transaction.
import type { RemovedPerson } from '../people.ts';
import { createBroadcastFinisher } from './finish-broadcast.ts';
import type { SqliteDatabase } from './database.ts';

/** @returns a function to be called inside a transaction */
export function createRemovePerson(database: SqliteDatabase): (user: string) => RemovedPerson {
  const statements = prepareStatements(database);
  const finish = createBroadcastFinisher(database);

  const removeTraces = (id: number, endpoint: string) => {
    const running = statements.dropRetries.all({ id, endpoint });
    const recipients = statements.dropRecipient.run({ id, endpoint });
    const attempts = statements.dropAttempts.run({ id });
    const receipts = statements.dropReceipts.run({ id });
    statements.dropAccepted.run({ id });
    statements.dropContacts.run({ person: `subscription:${id}` });
    // a retry may have been all that was left to do
    for (const { broadcast_id } of running) finish.ifOver(broadcast_id, database.now());
    return { recipients, attempts, receipts };
  };

  return (user) => {
    const counts = { recipients: 0, attempts: 0, receipts: 0 };
    const stored = statements.subscriptions.all({ user });
    const ended = statements.ended.all({ user });
    for (const { id, endpoint } of [...stored, ...ended]) {
      const removed = removeTraces(id, endpoint);
      counts.recipients += removed.recipients;
      counts.attempts += removed.attempts;
      counts.receipts += removed.receipts;
      statements.dropSubscription.run({ id });
    }
    // those that were marked gone have ended by being deleted
    statements.dropEnded.run({ user });
    statements.dropWebhookEvents.run({ user });
    statements.dropContacts.run({ person: `user:${user}` });
    const broadcasts = statements.dropBroadcasts.run({ user });
    const schedules = statements.dropSchedules.run({ user });
    return { subscriptions: stored.length, ended: ended.length, broadcasts, schedules, ...counts };
  };
}

function prepareStatements(database: SqliteDatabase) {
  const members = `
    select m.audience_id, m.position from audiences a
    join audience_members m on m.audience_id = a.id and m.subscription_id = :id
    union
    select m.audience_id, m.position from audiences a
    join audience_members m on m.audience_id = a.id and m.endpoint = :endpoint`;

  return {
    subscriptions: database.prepare<{ user: string }, { id: number; endpoint: string }>(
      'select id, endpoint from subscriptions where user = :user',
    ),
    ended: database.prepare<{ user: string }, { id: number; endpoint: string }>(
      'select id, endpoint from ended_subscriptions where user_name = :user',
    ),
    dropBroadcasts: database.prepare<{ user: string }>('delete from broadcasts where user = :user'),
    dropSchedules: database.prepare<{ user: string }>('delete from schedules where user_name = :user'),
    dropRetries: database.prepare<{ id: number; endpoint: string }, { broadcast_id: number }>(`
      delete from retries where (broadcast_id, position) in (
        select id, :id from broadcasts where has_list = 0 and state in ('running', 'paused')
        union
        select b.id, m.position from broadcasts b join (${members}) m on m.audience_id = b.audience_id
        where b.state in ('running', 'paused')
      ) returning broadcast_id
    `),
    dropRecipient: database.prepare<{ id: number; endpoint: string }>(
      `delete from audience_members where (audience_id, position) in (${members})`,
    ),
    dropAttempts: database.prepare<{ id: number }>('delete from attempts where subscription_id = :id'),
    dropReceipts: database.prepare<{ id: number }>(`
      delete from receipts
      where subscription_id = :id and broadcast_id in (select broadcast_id from receipt_windows)
    `),
    dropAccepted: database.prepare<{ id: number }>(
      'delete from accepted_subscriptions where subscription_id = :id',
    ),
    dropContacts: database.prepare<{ person: string }>('delete from person_reaches where person = :person'),
    dropSubscription: database.prepare<{ id: number }>('delete from subscriptions where id = :id'),
    dropWebhookEvents: database.prepare<{ user: string }>(
      'delete from webhook_events where user_name = :user',
    ),
    dropEnded: database.prepare<{ user: string }>('delete from ended_subscriptions where user_name = :user'),
  };
}
