// Gives free pages back to the disk (`auto_vacuum = incremental`), which a database has from its creation on, or from a restore.
import type { SqliteDatabase } from './database.ts';
import type { NoValues } from './statement.ts';

/** Some milliseconds of one transaction. */
const shrinkBatchPages = 256;
/** Free pages that are left for what is written next. */
const sparePages = 1024;
/** As SQLite numbers its modes. */
const incremental = 2;

/** @returns whether there may be more */
export function createShrink(database: SqliteDatabase): () => Promise<boolean> {
  const countFree = database.prepare<NoValues, { freelist_count: number }>('pragma freelist_count');
  const giveBack = database.prepare<NoValues>(`pragma incremental_vacuum(${shrinkBatchPages})`);
  const mode = database.prepare<NoValues, { auto_vacuum: number }>('pragma auto_vacuum');

  const freePages = (): number => countFree.first({})?.freelist_count ?? 0;
  const shrink = (): boolean => {
    if (mode.first({})?.auto_vacuum !== incremental || freePages() <= sparePages) return false;
    giveBack.all({});
    return freePages() > sparePages;
  };
  return () => database.write(shrink);
}
