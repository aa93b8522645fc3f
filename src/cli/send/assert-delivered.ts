// Which ends of a broadcast make `send` fail, and with which exit code.
import { countOf } from '../../errors/format-count.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Broadcast } from '../../store/broadcasts.ts';

/** @throws {DeskbellError} ERR_BROADCAST_UNFINISHED, ERR_NOT_ACCEPTED */
export function assertDelivered({ id, state, counts }: Broadcast): void {
  if (state === 'cancelled')
    throw new DeskbellError('ERR_BROADCAST_UNFINISHED', `Broadcast ${id} was cancelled`);
  if (state !== 'done') {
    throw new DeskbellError(
      'ERR_BROADCAST_UNFINISHED',
      `Broadcast ${id} is ${state} with ${countOf(counts.pending, 'message')} pending`,
    );
  }
  const failed = counts.rejected + counts.expired + counts.exhausted + counts.doubtful;
  if (failed === 0) return;
  throw new DeskbellError(
    'ERR_NOT_ACCEPTED',
    `${countOf(failed, 'message')} ${failed === 1 ? 'was' : 'were'} not accepted`,
  );
}
