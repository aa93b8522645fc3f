// Writes lines to a descriptor in batches of about a hundred records, in order, synchronously, so nothing is in flight
// when the process ends. If a batch cannot be written, its records are lost and the service goes on.
import { writeSync } from 'node:fs';

export type BatchWriter = ReturnType<typeof createBatchWriter>;

const batchCharacters = 16_384;
const flushIntervalMs = 200;
/** Beyond this, output that a slow reader has not taken is dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/** One exit listener for all open writers: Node warns of more than ten. */
const flushes = new Set<() => void>();
const flushAll = (): void => flushes.forEach((flush) => flush());

export function createBatchWriter(firstFd: number) {
  let fd = firstFd;
  let batch = '';
  let rest: Buffer = Buffer.alloc(0);
  let isWarned = false;

  const drop = (why: string): void => {
    rest = Buffer.alloc(0);
    if (!isWarned) process.emitWarning(`Log records are lost: ${why}`);
    isWarned = true;
  };
  const flush = (): void => {
    const bytes = Buffer.concat([rest, Buffer.from(batch)]);
    batch = '';
    if (bytes.length === 0) return;
    try {
      rest = bytes.subarray(writeSync(fd, bytes));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'EAGAIN') return drop(message);
      rest = bytes;
    }
    if (rest.length > maxWaitingBytes) drop('their reader does not keep up.');
  };
  const timer = setInterval(flush, flushIntervalMs).unref();
  if (flushes.size === 0) process.once('exit', flushAll);
  flushes.add(flush);
  return {
    write(line: string): void {
      batch += line;
      if (batch.length >= batchCharacters) flush();
    },
    flush,
    redirect(nextFd: number): void {
      flush();
      fd = nextFd;
    },
    close(): void {
      clearInterval(timer);
      flushes.delete(flush);
      if (flushes.size === 0) process.off('exit', flushAll);
      flush();
    },
  };
}
