// Takes subscriptions out of the sets of attempts, in short transactions, so that nobody waits for it.
import { broadcastsWithAttempts } from './attempt-reader.ts';
import { decodeIds, encodeIds } from './id-set.ts';
import { run, type PortableDatabase, type Work } from './portable-sql.ts';

/** Broadcasts of one transaction. */
const broadcastBatch = 20;

/** @returns how many attempts there were of them */
export async function forgetAttempts(
  database: PortableDatabase,
  subscriptionIds: readonly number[],
): Promise<number> {
  let forgotten = 0;
  for (let maxBroadcastId = Number.MAX_SAFE_INTEGER; subscriptionIds.length > 0;) {
    const broadcasts = await database.read<{ readonly id: number }>(broadcastsWithAttempts, {
      maxBroadcastId,
      limit: broadcastBatch,
    });
    const last = broadcasts.at(-1);
    if (last === undefined) break;
    // one at a time, since a set is read before it is written
    forgotten += await database.erase(function* () {
      let taken = 0;
      for (const { id: broadcastId } of broadcasts) {
        for (const id of subscriptionIds) taken += yield* takeOut(broadcastId, id);
      }
      return taken;
    }, 'attempts');
    maxBroadcastId = last.id - 1;
  }
  return forgotten;
}

function* takeOut(broadcastId: number, subscriptionId: number): Work<number> {
  const sets = yield* run<{ readonly id: number; readonly ids: Uint8Array }>(
    `select id, ids from deskbell.attempt_sets
     where broadcast_id = :broadcastId and first_id <= :subscriptionId and last_id >= :subscriptionId`,
    { broadcastId, subscriptionId },
  );
  let taken = 0;
  for (const { id, ids } of sets) {
    const all = decodeIds(ids);
    const rest = all.filter((other) => other !== subscriptionId);
    if (rest.length === all.length) continue;
    taken += 1;
    if (rest.length === 0) yield* run('delete from deskbell.attempt_sets where id = :id', { id });
    else
      yield* run(
        `update deskbell.attempt_sets set first_id = :firstId, last_id = :lastId, rows = :rows, ids = :ids
         where id = :id`,
        { id, firstId: rest[0]!, lastId: rest.at(-1)!, rows: rest.length, ids: encodeIds(rest) },
      );
  }
  return taken;
}
