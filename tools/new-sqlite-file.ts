// The file of an empty SQLite store, with all its tables: a copy of one that this process has made, since making the tables anew
// takes ten times as long.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '../src/store/sqlite/open-store.ts';
import { fastFolder } from './fast-folder.ts';

let bytes: Promise<Uint8Array> | undefined;

/** @param path of the file, whose folder is there and it is not */
export async function createSqliteFile(path: string): Promise<void> {
  writeFileSync(path, await (bytes ??= makeFile()), { mode: 0o600, flag: 'wx' });
}

async function makeFile(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(fastFolder(), 'deskbell-template-'));
  try {
    const path = join(folder, 'deskbell.db');
    await (await openSqliteStore({ path })).close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
