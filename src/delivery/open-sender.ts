// Puts a sender together: transport, encryption, the path of single messages, and the broadcaster.
import { loadAccelerator, type EncryptionMethod } from '../accelerator/load-accelerator.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import { createEncryptBatch, type EncryptBatch } from '../protocol/encrypt-batch.ts';
import { maxTimeoutMs } from '../transport/check-options.ts';
import { systemClock } from '../transport/clock.ts';
import { createTransport, defaultTimeouts } from '../transport/create-transport.ts';
import type { TransportOptions } from '../transport/transport.ts';
import { createBroadcaster, type Broadcaster } from './broadcaster.ts';
import { startGoneReports } from './gone-hook.ts';
import { createMessagePath } from './message-path.ts';
import type { Sender, SenderOptions } from './sender.ts';
import { createSingleMessages } from './single-messages.ts';

/** @param options that `createSender` has checked */
export function openSender(options: SenderOptions): Sender {
  const { vapid, encrypt, encryption, store, threads, onWarning, retryPolicy, worker, ...rest } = options;
  const { sendTimeoutMs, onGone, receiptKey, ...transportOptions } = rest;
  const transport = createTransport(transportOptions);
  const settings = { vapid, transport: transportOptions, retryPolicy, encryption, worker, receiptKey };
  const encryptBatch = encrypt ? createEncryptBatch(encrypt) : loadWhenNeeded(encryption);
  const path = createMessagePath(settings, transport, encryptBatch, store);
  const broadcaster = store && createBroadcaster({ ...settings, store, threads, encrypt, onWarning });
  const single = createSingleMessages({
    path,
    policy: createEndpointPolicy(transportOptions.pushServices),
    store,
    hasOtherKeys: (vapid.previousKeys ?? []).length > 0 || vapid.keyDirectory !== undefined,
    timeoutMs: sendTimeoutMs ?? connectAndAnswerMs(transportOptions),
    monotonicNow: transportOptions.monotonicNow ?? systemClock.monotonicNow,
    onWarning: onWarning ?? (() => {}),
  });
  const goneReports = store && onGone && startGoneReports(store.ended, onGone, onWarning ?? (() => {}));

  const requireBroadcaster = (): Broadcaster => {
    if (broadcaster !== undefined) return broadcaster;
    throw new DeskbellError('ERR_CONFIGURATION', 'Broadcasts are kept in a store: give createSender one.');
  };

  return {
    send: (...message) => single.send(...message),
    sendPayload: (...message) => single.sendPayload(...message),
    broadcast: async (...message) => requireBroadcaster().broadcast(...message),
    createBroadcast: async (...message) => requireBroadcaster().createBroadcast(...message),
    resume: async (broadcastId) => requireBroadcaster().resume(broadcastId),
    work: async (signal, onFault) => requireBroadcaster().work(signal, onFault),

    async close() {
      // What was given to send before is still sent.
      await single.flush();
      await Promise.all([broadcaster?.close(), transport.close()]);
      await single.close();
      await goneReports?.close();
    },
  };
}

/** A sender that makes broadcasts only needs none in this thread. */
function loadWhenNeeded(fastest: EncryptionMethod | undefined): EncryptBatch {
  let encryptBatch: EncryptBatch | undefined;
  return (messages) => {
    encryptBatch ??= loadAccelerator({ fastest }).encryptBatch;
    return encryptBatch(messages);
  };
}

function connectAndAnswerMs(options: TransportOptions): number {
  const { connectTimeoutMs, responseTimeoutMs } = defaultTimeouts;
  const sumMs =
    (options.connectTimeoutMs ?? connectTimeoutMs) + (options.responseTimeoutMs ?? responseTimeoutMs);
  return Math.min(sumMs, maxTimeoutMs);
}
