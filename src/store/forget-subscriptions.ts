// Takes subscriptions out of sets of ids, those of attempts and those of audiences, in short transactions, so that nobody waits
// for it.
import { broadcastsWithAttempts } from './attempt-reader.ts';
import { addRemoved } from './finish-broadcast.ts';
import { decodeIds, encodeIds } from './id-set.ts';
import { run, type PortableDatabase, type Work } from './portable-sql.ts';

/** A table with sets of ids. */
interface SetTable {
  readonly name: string;
  /** Ids of those whose sets they are, newest first: at most `:limit` up to `:maxId`. */
  readonly owners: string;
  readonly owner: string;
  /** Of an owner. */
  readonly key: string;
  /** What is done to a set without members. */
  readonly ifEmpty: 'delete' | 'keep';
  /** What follows where a subscription was taken out of a set. */
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
  // its slice may be still to come
  ifEmpty: 'keep',
  afterwards: countUnread,
};

/** Owners of one transaction. */
const ownerBatch = 20;

/** @returns how many attempts there were of them */
export const forgetAttempts = (database: PortableDatabase, ids: readonly number[]): Promise<number> =>
  forget(database, attemptSets, ids);

/** @returns how many places they had in audiences */
export const forgetMemberships = (database: PortableDatabase, ids: readonly number[]): Promise<number> =>
  forget(database, audienceSets, ids);

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
    // one at a time, since a set is read before it is written
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
 * A member that was not read yet counts as removed. Whoever has leased the slice knows the former members, and would count it again:
 * the slice is leased anew.
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
