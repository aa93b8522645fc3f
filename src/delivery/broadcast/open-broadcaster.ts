// The broadcaster of a sender, as its options want it.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createBroadcaster, type Broadcaster } from './broadcaster.ts';
import { parseMaxRates } from '../limits/max-rate.ts';
import type { SenderOptions } from '../sender.ts';

/**
 * @param options that `createSender` has checked
 * @throws {DeskbellError} ERR_CONFIGURATION (no store)
 */
export function openBroadcaster(options: SenderOptions): Broadcaster {
  const { vapid, encrypt, encryption, store, threads, onWarning, retryPolicy, worker, ...rest } = options;
  const {
    sendTimeoutMs: _sendTimeoutMs,
    onGone: _onGone,
    receiptKey,
    onFigures,
    maxRate = [],
    ...transport
  } = rest;
  if (store === undefined) {
    throw new DeskbellError('ERR_CONFIGURATION', 'Broadcasts are kept in a store: give createSender one.');
  }
  return createBroadcaster({
    vapid,
    transport,
    retryPolicy,
    encryption,
    worker,
    receiptKey,
    maxRates: parseMaxRates(maxRate),
    store,
    threads,
    encrypt,
    onWarning,
    onFigures,
  });
}
