// Where tests keep what they store: on a disk, each commit waits until it is written, and no test pulls the plug.
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const inMemory = '/dev/shm';
/** Of all test files that run at the same time. */
const neededBytes = 2e9;

/** In memory where the system has a file system there, with room; else the folder for temporary files. */
export function fastFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize > neededBytes ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}
