// Creates broadcasts, pauses, resumes and cancels them.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { BroadcastReader } from './broadcast-reader.ts';
import {
  repeatBroadcast,
  type Broadcast,
  type BroadcastState,
  type BroadcastStore,
  type NewBroadcast,
} from './broadcasts.ts';
import { judgeBroadcast } from './finish-broadcast.ts';
import type { PortableDatabase } from './portable-sql.ts';
import { createPreparations, type MemberFinder } from './preparations.ts';

/** What each database does in its own way. */
export interface BroadcastWriter extends Pick<BroadcastStore, 'addToAudience'>, MemberFinder {
  /** Writes a broadcast with its slices. @returns its id; `undefined` if another one has the key */
  insert(draft: NewBroadcast): Promise<number | undefined>;
}

export function createBroadcasts(
  database: PortableDatabase,
  reader: BroadcastReader,
  { insert, addToAudience, ...finder }: BroadcastWriter,
): BroadcastStore {
  /** @throws {DeskbellError} ERR_IDEMPOTENCY_KEY */
  const findExisting = async ({ idempotencyKey, contentHash }: NewBroadcast) => {
    const stored = idempotencyKey === undefined ? undefined : await reader.findByKey(idempotencyKey);
    return stored && repeatBroadcast(stored, contentHash);
  };

  const create = async (draft: NewBroadcast): ReturnType<BroadcastStore['create']> => {
    const existing = await findExisting(draft);
    if (existing !== undefined) return existing;
    const id = await insert(draft);
    if (id !== undefined) return { broadcast: await reader.get(id), isNew: true };
    // another process was faster with the same key
    const other = await findExisting(draft);
    if (other === undefined) throw new Error('The broadcast was not stored.');
    return other;
  };

  const change = async (
    id: number,
    to: BroadcastState,
    from: readonly BroadcastState[],
  ): Promise<Broadcast> => {
    const changed = await database.writeOnce(
      `update deskbell.broadcasts set state = :to,
         finished_at_ms = case when :to = 'cancelled' then :nowMs else finished_at_ms end
       where id = :id and state in (${from.map((state) => `'${state}'`).join(', ')})
       returning id`,
      { id, to, nowMs: database.now() },
    );
    const broadcast = await reader.get(id);
    if (changed.length > 0 || broadcast.state === to) return broadcast;
    throw new DeskbellError(
      'ERR_BROADCAST_STATE',
      `Broadcast ${id} is ${broadcast.state}; only one that is ${from.join(' or ')} can become ${to}.`,
    );
  };

  /** @returns false if the audience of the broadcast is complete */
  const pausePreparation = async (id: number, isPaused: number): Promise<boolean> => {
    const changed = await database.writeOnce(
      `update deskbell.preparations set is_paused = :isPaused where broadcast_id = :id
         and exists (select 1 from deskbell.broadcasts b where b.id = :id and b.state = 'paused')
       returning broadcast_id`,
      { id, isPaused },
    );
    return changed.length > 0;
  };

  return {
    openAudience: async () => {
      const [row] = await database.writeOnce<{ readonly id: number }>(
        'insert into deskbell.audiences (created_at_ms) values (:nowMs) returning id',
        { nowMs: database.now() },
      );
      if (row === undefined) throw new Error('The list of recipients was not stored.');
      return row.id;
    },
    addToAudience,
    ...createPreparations(database, finder),
    ...reader,
    create,
    pause: async (id) =>
      (await pausePreparation(id, 1)) ? reader.get(id) : change(id, 'paused', ['running']),
    resume: async (id) =>
      (await pausePreparation(id, 0)) ? reader.get(id) : change(id, 'running', ['paused']),
    cancel: async (id) => {
      await change(id, 'cancelled', ['running', 'paused']);
      await database.write('delete from deskbell.preparations where broadcast_id = :id', { id });
      await database.background(() => judgeBroadcast(database, id));
      // what a worker holds right now it settles itself
      for (const [table, key] of [
        ['retries', 'position'],
        ['slices', 'number'],
      ]) {
        await database.writeInBatches(
          `delete from deskbell.${table} where broadcast_id = :id and ${key} in (
             select ${key} from deskbell.${table} where broadcast_id = :id and token is null limit :batchRows)`,
          { id },
        );
      }
      return reader.get(id);
    },
  };
}
