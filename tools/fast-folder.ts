// Where tests keep what they store: on a disk, each commit waits until it is written, and no test pulls the plug.
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** The one of a test file, within which it keeps what it stores. */
export const fastFolderVariable = 'TEST_FAST_FOLDER';
const inMemory = '/dev/shm';
/** Of all test files that run at the same time. */
const neededBytes = 2e9;

/** In memory where the system has a file system there, with room; else the folder for temporary files. */
export function fastFolder(): string {
  const ofFile = process.env[fastFolderVariable];
  if (ofFile !== undefined) return ofFile;
  try {
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize > neededBytes ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}
