// Deletes everything the database knows about a person. Their devices are taken out of the sets of broadcasts in short
// transactions; all other data is deleted in one.
import { broadcastsWithAttempts } from './attempt-reader.ts';
import { addRemoved, finishIfOver } from './finish-broadcast.ts';
import { decodeIds, encodeIds } from './id-set.ts';
import { changeRows, type PortableDatabase, type PortableValues, run, type Work } from './portable-sql.ts';

/** A table that contains sets of ids. */
interface SetTable {
  readonly name: string;
  /** Selects the ids of broadcasts or audiences that have sets, newest first: at most `:limit` ids, up to `:maxId`. */
  readonly owners: string;
  readonly owner: string;
  /** Column that identifies a set within its broadcast or audience. */
  readonly key: string;
  /** What to do with a set that becomes empty. */
  readonly ifEmpty: 'delete' | 'keep';
  /** Called when a subscription was removed from a set. */
  readonly afterwards?: (owner: number, key: number, subscriptionId: number) => Work<void>;
}

const attemptSets: SetTable = {
  name: 'deskbell.attempt_sets',
  owners: broadcastsWithAttempts,
  owner: 'broadcast_id',
  key: 'id',
  ifEmpty: 'delete',
};

const audienceSets: SetTable = {
  name: 'deskbell.audience_sets',
  owners: 'select id from deskbell.audiences where id <= :maxId order by id desc limit :limit',
  owner: 'audience_id',
  key: 'number',
  // keep an empty set, because its slice may not have been sent yet
  ifEmpty: 'keep',
  afterwards: countUnread,
};

const ownerBatch = 20;

/** Takes subscriptions out of all sets of a table. @returns how many entries were deleted */
async function forget(
  database: PortableDatabase,
  table: SetTable,
  subscriptionIds: readonly number[],
): Promise<number> {
  let forgotten = 0;
  for (let maxId = Number.MAX_SAFE_INTEGER; subscriptionIds.length > 0;) {
    const owners = await database.read<{ readonly id: number }>(table.owners, { maxId, limit: ownerBatch });
    const last = owners.at(-1);
    if (last === undefined) break;
    // handle one set at a time, because a set is read before it is written
    forgotten += await database.erase(function* () {
      let taken = 0;
      for (const { id: ownerId } of owners) {
        for (const id of subscriptionIds) taken += yield* takeOut(table, ownerId, id);
      }
      return taken;
    }, table.name);
    maxId = last.id - 1;
  }
  return forgotten;
}

/**
 * A subscription is being taken out of a slice: counts it as removed, unless a worker has already read it. Ends the
 * lease of the slice, because the leaseholder still has the former list of members and would count this one twice.
 */
function* countUnread(audienceId: number, number: number, subscriptionId: number): Work<void> {
  const slices = yield* run<{ readonly broadcast_id: number }>(
    `update deskbell.slices set token = null,
       -- one that is free later stays so
       lease_until_ms = case when token is null then lease_until_ms else 0 end
     where number = :number and cursor < :subscriptionId
       and broadcast_id in (select id from deskbell.broadcasts where audience_id = :audienceId)
     returning broadcast_id`,
    { audienceId, number, subscriptionId },
  );
  for (const { broadcast_id: broadcastId } of slices) {
    yield* addRemoved(broadcastId);
    yield* run('update deskbell.work set slices_at_ms = 0 where broadcast_id = :broadcastId', {
      broadcastId,
    });
  }
}

function* takeOut(
  { name, owner, key, ifEmpty, afterwards }: SetTable,
  ownerId: number,
  subscriptionId: number,
): Work<number> {
  const sets = yield* run<{ readonly key: number; readonly ids: Uint8Array }>(
    `select ${key} as key, ids from ${name}
     where ${owner} = :ownerId and first_id <= :subscriptionId and last_id >= :subscriptionId`,
    { ownerId, subscriptionId },
  );
  let taken = 0;
  for (const set of sets) {
    const all = decodeIds(set.ids);
    const rest = all.filter((other) => other !== subscriptionId);
    if (rest.length === all.length) continue;
    taken += 1;
    if (afterwards !== undefined) yield* afterwards(ownerId, set.key, subscriptionId);
    const where = `${owner} = :ownerId and ${key} = :key`;
    const values = { ownerId, key: set.key };
    if (rest.length === 0 && ifEmpty === 'delete') yield* run(`delete from ${name} where ${where}`, values);
    else
      yield* run(
        `update ${name} set first_id = :firstId, last_id = :lastId, rows = :rows, ids = :ids where ${where}`,
        {
          ...values,
          firstId: rest[0] ?? subscriptionId,
          lastId: rest.at(-1) ?? subscriptionId,
          rows: rest.length,
          ids: encodeIds(rest),
        },
      );
  }
  return taken;
}

/** How many items of each kind were deleted when a person was removed. */
export interface RemovedPerson {
  readonly subscriptions: number;
  /** Subscriptions that had already ended, but had not been reported to the application. */
  readonly ended: number;
  /** Broadcasts to this person alone, with message and counts. */
  readonly broadcasts: number;
  /** Schedules for this person alone. */
  readonly schedules: number;
  /** Bells for this person alone. */
  readonly bells: number;
  /** Entries in lists of recipients. */
  readonly recipients: number;
  /** Number of attempts, including attempts in broadcasts that also went to other people. */
  readonly attempts: number;
  /** What the person's browsers reported about notifications. */
  readonly receipts: number;
}

interface PersonRow {
  readonly id: number;
  readonly endpoint: string;
}

/** @param by who removes the person; stored in `losses` */
export async function removePerson(
  database: PortableDatabase,
  user: string,
  by: string | undefined,
): Promise<RemovedPerson> {
  const rows = await database.read<{ readonly id: number }>(
    `select id from deskbell.subscriptions where user_name = :user
     union all select id from deskbell.ended_subscriptions where user_name = :user`,
    { user },
  );
  // do this first: once the rows are removed, their ids are unknown
  const ids = rows.map(({ id }) => id);
  const attempts = await forget(database, attemptSets, ids);
  const memberships = await forget(database, audienceSets, ids);
  const removed = await database.erase(() => removeRows(database, user, by));
  return { ...removed, recipients: removed.recipients + memberships, attempts };
}

function* removeRows(
  database: PortableDatabase,
  user: string,
  by: string | undefined,
): Work<Omit<RemovedPerson, 'attempts'>> {
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
  // the person's entries in lists of recipients
  const members = `
    select m.audience_id, m.position from deskbell.audiences a
    join deskbell.audience_members m on m.audience_id = a.id and m.${database.endpoint.column} = :endpoint`;
  for (const row of [...stored, ...ended]) {
    const id = { id: row.id };
    const endpoint = { endpoint: database.endpoint.valueOf(row.endpoint) };
    const retries = yield* run<{ readonly broadcast_id: number; readonly is_outside: number | boolean }>(
      `delete from deskbell.retries where (broadcast_id, position) in (
         select id, cast(:id as bigint) from deskbell.broadcasts
         where rows_in <> 'list' and state in ('running', 'paused')
         union
         select b.id, m.position from deskbell.broadcasts b join (${members}) m on m.audience_id = b.audience_id
         where b.state in ('running', 'paused')
       ) returning broadcast_id, is_outside`,
      { ...id, ...endpoint },
    );
    for (const { broadcast_id, is_outside: isOutside } of retries) {
      running.add(broadcast_id);
      if (!isOutside) yield* addRemoved(broadcast_id);
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
    yield* run(
      `update deskbell.losses set subscription_id = null,
         removed_by = case when reason = 'removed' then :by else removed_by end
       where subscription_id = :id`,
      { ...id, by },
    );
  }
  // for each subscription that was marked gone, its deletion has just added an ended subscription
  for (const table of ['ended_subscriptions', 'people', 'webhook_events', 'invitations'])
    yield* drop(`${table} where user_name = :user`, { user });
  yield* drop('person_reaches where person = :person', { person: `user:${user}` });
  const broadcasts = yield* drop(`broadcasts where user_name = :user`, { user });
  const schedules = yield* drop('schedules where user_name = :user', { user });
  const bells = yield* drop('bells where user_name = :user', { user });
  // this retry may have been the last remaining work
  for (const id of running) yield* finishIfOver(database, id);
  return { subscriptions: stored.length, ended: ended.length, broadcasts, schedules, bells, ...counts };
}

/** @returns how many rows were deleted */
const drop = (from: string, values: PortableValues): Work<number> =>
  changeRows(`delete from deskbell.${from}`, values);
