// Writes lines to a descriptor in batches: one call to the system for a hundred records, in order, and nothing in
// flight when the process ends. Where a batch cannot be written, records are lost, never the service.
import { writeSync } from 'node:fs';

export type BatchWriter = ReturnType<typeof createBatchWriter>;

const batchCharacters = 16_384;
const flushIntervalMs = 200;
/** Of a reader that does not keep up; beyond, what is waiting is dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/** Of the writers that are open. One listener for all: Node warns of more than ten. */
const flushes = new Set<() => void>();
const flushAll = (): void => flushes.forEach((flush) => flush());

export function createBatchWriter(firstFd: number) {
  let fd = firstFd;
  let batch = '';
  /** What a pipe that is full has not taken. */
  let rest: Buffer = Buffer.alloc(0);
  let isWarned = false;

  const drop = (why: string): void => {
    rest = Buffer.alloc(0);
    if (!isWarned) process.emitWarning(`Log records are lost: ${why}`);
    isWarned = true;
  };
  /** Writes out what is waiting, as far as the descriptor takes it. */
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
    /** Flushes, and writes to another descriptor from then on. */
    redirect(nextFd: number): void {
      flush();
      fd = nextFd;
    },
    /** Flushes, and writes nothing any more. */
    close(): void {
      clearInterval(timer);
      flushes.delete(flush);
      if (flushes.size === 0) process.off('exit', flushAll);
      flush();
    },
  };
}
