// Deletes all that the database knows of a person, inside a transaction.
import type { RemovedPerson } from '../people.ts';
import { hashEndpoint } from '../../protocol/endpoint.ts';
import type { Query } from './database.ts';

interface PersonRow {
  readonly id: number;
  readonly endpoint: string;
}

interface CountRow {
  readonly rows: number;
}

/** Where the person stands in lists of recipients. $1: ids, $2: hashes. */
const members = `
  select m.audience_id, m.position from deskbell.audiences a
  join deskbell.audience_members m on m.audience_id = a.id and m.subscription_id = any ($1::bigint[])
  union
  select m.audience_id, m.position from deskbell.audiences a
  join deskbell.audience_members m
    on m.audience_id = a.id and m.endpoint_hash = any ($2::uuid[]) and m.endpoint is not null`;

/** @param functions the schema of the database's functions */
export async function removePerson(
  query: Query,
  functions: string,
  user: string,
  nowMs: number | null,
): Promise<RemovedPerson> {
  const stored = await query<PersonRow>(
    'select id, endpoint from deskbell.subscriptions where user_name = $1 for update',
    [user],
  );
  const ended = await query<PersonRow>(
    'select id, endpoint from deskbell.ended_subscriptions where user_name = $1',
    [user],
  );
  const ids = [...stored, ...ended].map(({ id }) => id);
  const hashes = [...stored, ...ended].map(({ endpoint }) => hashEndpoint(endpoint));
  const count = async (statement: string, values: readonly (string | readonly (number | string)[])[]) => {
    const [row] = await query<CountRow>(
      `with removed as (${statement} returning 1) select count(*) as rows from removed`,
      values,
    );
    return row?.rows ?? 0;
  };

  const running = await query<{ readonly broadcast_id: number }>(
    `delete from deskbell.retries where (broadcast_id, position) in (
       select b.id, i.id from deskbell.broadcasts b cross join unnest($1::bigint[]) as i (id)
         where b.rows_in <> 'list' and b.state in ('running', 'paused')
       union
       select b.id, m.position from deskbell.broadcasts b join (${members}) m on m.audience_id = b.audience_id
         where b.state in ('running', 'paused')
     ) returning broadcast_id`,
    [ids, hashes],
  );
  const recipients = await count(
    `delete from deskbell.audience_members where (audience_id, position) in (${members})`,
    [ids, hashes],
  );
  const attempts = await count('delete from deskbell.attempts where subscription_id = any ($1)', [ids]);
  const receipts = await count(
    `delete from deskbell.receipts where subscription_id = any ($1)
       and broadcast_id in (select broadcast_id from deskbell.receipt_windows)`,
    [ids],
  );
  await query('delete from deskbell.accepted_subscriptions where subscription_id = any ($1)', [ids]);
  await query('delete from deskbell.subscriptions where endpoint_hash = any ($2::uuid[]) and id = any ($1)', [
    ids,
    hashes,
  ]);
  // those that were marked gone have ended by being deleted
  await query('delete from deskbell.ended_subscriptions where user_name = $1', [user]);
  await query('delete from deskbell.webhook_events where user_name = $1', [user]);
  await query('delete from deskbell.person_reaches where person = any ($1)', [
    [`user:${user}`, ...ids.map((id) => `subscription:${id}`)],
  ]);
  const broadcasts = await count('delete from deskbell.broadcasts where user_name = $1', [user]);
  const schedules = await count('delete from deskbell.schedules where user_name = $1', [user]);
  // a retry may have been all that was left to do
  for (const id of new Set(running.map(({ broadcast_id }) => broadcast_id))) {
    await query(`select ${functions}.finish_if_over($1, ${functions}.clock($2))`, [id, nowMs]);
  }
  return {
    subscriptions: stored.length,
    ended: ended.length,
    broadcasts,
    schedules,
    recipients,
    attempts,
    receipts,
  };
}
