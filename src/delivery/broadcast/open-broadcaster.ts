// The broadcaster of a sender, as its options want it.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createBroadcaster, type Broadcaster } from './broadcaster.ts';
import { groupSenderOptions, type SenderOptions } from '../sender-options.ts';

/**
 * @param options that `createSender` has checked
 * @throws {DeskbellError} ERR_CONFIGURATION (no store)
 */
export function openBroadcaster(options: SenderOptions): Broadcaster {
  const { settings, store, threads, encrypt, onWarning, onFigures } = groupSenderOptions(options);
  if (store === undefined) {
    throw new DeskbellError('ERR_CONFIGURATION', 'Broadcasts are kept in a store: give createSender one.');
  }
  return createBroadcaster({ ...settings, store, threads, encrypt, onWarning, onFigures });
}
