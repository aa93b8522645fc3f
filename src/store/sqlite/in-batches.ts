// Work that is too much for one transaction, cut into many, with time for other processes to write between them: SQLite
// gives the write lock to whoever asks at the right moment, not to whoever has waited longest.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SqliteDatabase } from './database.ts';

/** Other processes ask for the write lock at least this often while they wait for it, on a machine that is not busy. */
const minPauseMs = 12;

/** Runs `step` in one transaction after the other while it returns true. */
export async function inBatches(database: Pick<SqliteDatabase, 'write'>, step: () => boolean): Promise<void> {
  for (;;) {
    const startedAtMs = performance.now();
    if (!(await database.write(step))) return;
    // a third of the time belongs to others, however slow the disk is
    await sleep(Math.max(minPauseMs, (performance.now() - startedAtMs) / 2));
  }
}
