// The file of an empty SQLite store, with all its tables: a copy of one that this process has made, or `npm test` for all test
// files, since making the tables anew takes ten times as long.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '../src/store/sqlite/open-store.ts';
import { fastFolder } from './fast-folder.ts';

/** Where `npm test` has put one. The command takes DESKBELL_… for settings. */
const variable = 'TEST_SQLITE_FILE';
let bytes: Promise<Uint8Array> | undefined;

/** @param path of the file, whose folder is there and it is not */
export async function createSqliteFile(path: string): Promise<void> {
  writeFileSync(path, await (bytes ??= readOrMakeFile()), { mode: 0o600, flag: 'wx' });
}

/** From now on all test files that this process starts begin with a copy of a file in `folder`. */
export async function shareSqliteFile(folder: string): Promise<void> {
  const path = join(folder, 'empty.db');
  await createSqliteFile(path);
  process.env[variable] = path;
}

async function readOrMakeFile(): Promise<Uint8Array> {
  const shared = process.env[variable];
  return shared === undefined ? makeFile() : readFileSync(shared);
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
