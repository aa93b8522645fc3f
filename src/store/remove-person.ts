// Deletes all that the database knows of a person: what came of broadcasts to others in short transactions, all else in one.
import { addRemoved, finishIfOver } from './finish-broadcast.ts';
import { forgetAttempts, forgetMemberships } from './forget-subscriptions.ts';
import { changeRows, run, type PortableDatabase, type PortableValues, type Work } from './portable-sql.ts';

/** What was deleted of a person. */
export interface RemovedPerson {
  readonly subscriptions: number;
  /** Subscriptions that had ended already, of which the application had not taken note. */
  readonly ended: number;
  /** Broadcasts that were for this person alone, with message and counts. */
  readonly broadcasts: number;
  /** Schedules that were for this person alone. */
  readonly schedules: number;
  /** Places in lists of recipients. */
  readonly recipients: number;
  /** Attempts of broadcasts to others too. */
  readonly attempts: number;
  /** Reports of their browsers about notifications. */
  readonly receipts: number;
}

interface PersonRow {
  readonly id: number;
  readonly endpoint: string;
}

export async function removePerson(database: PortableDatabase, user: string): Promise<RemovedPerson> {
  const rows = await database.read<{ readonly id: number }>(
    `select id from deskbell.subscriptions where user_name = :user
     union all select id from deskbell.ended_subscriptions where user_name = :user`,
    { user },
  );
  // first, since the ids are not known any more afterwards
  const ids = rows.map(({ id }) => id);
  const attempts = await forgetAttempts(database, ids);
  const memberships = await forgetMemberships(database, ids);
  const removed = await database.erase(() => removeRows(database, user));
  return { ...removed, recipients: removed.recipients + memberships, attempts };
}

function* removeRows(database: PortableDatabase, user: string): Work<Omit<RemovedPerson, 'attempts'>> {
  const stored = yield* run<PersonRow>(
    `select id, endpoint from deskbell.subscriptions where user_name = :user ${database.forUpdate}`,
    { user },
  );
  const ended = yield* run<PersonRow>(
    'select id, endpoint from deskbell.ended_subscriptions where user_name = :user',
    { user },
  );
  const counts = { recipients: 0, receipts: 0 };
  const running = new Set<number>();
  // where the person stands in lists of recipients
  const members = `
    select m.audience_id, m.position from deskbell.audiences a
    join deskbell.audience_members m on m.audience_id = a.id and m.${database.endpoint.column} = :endpoint`;
  for (const row of [...stored, ...ended]) {
    const id = { id: row.id };
    const endpoint = { endpoint: database.endpoint.valueOf(row.endpoint) };
    const retries = yield* run<{ readonly broadcast_id: number }>(
      `delete from deskbell.retries where (broadcast_id, position) in (
         select id, cast(:id as bigint) from deskbell.broadcasts
         where rows_in <> 'list' and state in ('running', 'paused')
         union
         select b.id, m.position from deskbell.broadcasts b join (${members}) m on m.audience_id = b.audience_id
         where b.state in ('running', 'paused')
       ) returning broadcast_id`,
      { ...id, ...endpoint },
    );
    for (const { broadcast_id } of retries) {
      running.add(broadcast_id);
      yield* addRemoved(broadcast_id);
    }
    counts.recipients += yield* drop(
      `audience_members where (audience_id, position) in (${members})`,
      endpoint,
    );
    counts.receipts += yield* drop(
      `receipts where subscription_id = :id
         and broadcast_id in (select broadcast_id from deskbell.receipt_windows)`,
      id,
    );
    yield* drop('accepted_subscriptions where subscription_id = :id', id);
    yield* drop('person_reaches where person = :person', { person: `subscription:${row.id}` });
    yield* drop('subscriptions where id = :id', id);
  }
  // those that were marked gone have ended by being deleted
  yield* drop('ended_subscriptions where user_name = :user', { user });
  yield* drop('people where user_name = :user', { user });
  yield* drop('webhook_events where user_name = :user', { user });
  yield* drop('invitations where user_name = :user', { user });
  yield* drop('person_reaches where person = :person', { person: `user:${user}` });
  const broadcasts = yield* drop(`broadcasts where user_name = :user`, { user });
  const schedules = yield* drop('schedules where user_name = :user', { user });
  // a retry may have been all that was left to do
  for (const id of running) yield* finishIfOver(database, id);
  return { subscriptions: stored.length, ended: ended.length, broadcasts, schedules, ...counts };
}

/** @returns how many rows are deleted */
const drop = (from: string, values: PortableValues): Work<number> =>
  changeRows(`delete from deskbell.${from}`, values);
