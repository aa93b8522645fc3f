// The file of an empty SQLite store, with all its tables: a copy of one that is made once in a run, since making the tables anew
// takes ten times as long.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '../src/store/sqlite/open-store.ts';
import { makeOnce } from './make-once.ts';

let bytes: Promise<Uint8Array> | undefined;

/** @param path of the file, whose folder is there and it is not */
export async function createSqliteFile(path: string): Promise<void> {
  writeFileSync(path, await (bytes ??= readEmptyFile()), { mode: 0o600, flag: 'wx' });
}

async function readEmptyFile(): Promise<Uint8Array> {
  const name = 'deskbell.db';
  const folder = await makeOnce('sqlite', async (made) => {
    await (await openSqliteStore({ path: join(made, name) })).close();
  });
  return readFileSync(join(folder, name));
}
