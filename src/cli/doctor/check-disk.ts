// The disk of the data directory: whether it can be written, and its free space.
import { statfs } from 'node:fs/promises';
import { isOnReadOnlyDisk } from '../../keys/private-file.ts';
import { formatBytes } from '../output/format-bytes.ts';
import { ok, type Outcome } from './finding.ts';

/** Below the first a broadcast may fill it soon; below the second commits fail. */
const lowDiskSpaceBytes = 1e9;
const minDiskSpaceBytes = 50e6;

/** @param hasOnlyKeys where the database is elsewhere */
export async function checkDiskSpace(directory: string, hasOnlyKeys: boolean): Promise<Outcome> {
  if (isOnReadOnlyDisk(directory)) {
    return {
      status: hasOnlyKeys ? 'warning' : 'fault',
      detail: `its file system is read-only: ${hasOnlyKeys ? 'no key can be added' : 'nothing can be stored'}`,
      cure: 'Mount it writable. The system makes a faulty disk read-only: see the system log.',
    };
  }
  const { bavail, bsize } = await statfs(directory);
  return describeDiskSpace(bavail * bsize);
}

export function describeDiskSpace(bytes: number): Outcome {
  const detail = `${formatBytes(bytes)} free`;
  if (bytes >= lowDiskSpaceBytes) return ok(detail);
  return {
    status: bytes < minDiskSpaceBytes ? 'fault' : 'warning',
    detail,
    cure: 'Free some space. Sending stops while the disk is full, and continues when there is space.',
  };
}
