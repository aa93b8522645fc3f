// Puts together what sends single messages: transport, encryption, their path. Broadcasts that threads deliver need
// none of it here, so it is loaded with the first single message.
import { loadAccelerator, type EncryptionMethod } from '../../accelerator/load-accelerator.ts';
import { createEndpointPolicy } from '../../protocol/endpoint-policy.ts';
import { createEncryptBatch, type EncryptBatch } from '../../protocol/encrypt-batch.ts';
import { maxTimeoutMs } from '../../transport/check-options.ts';
import { systemClock } from '../../transport/clock.ts';
import { createTransport, defaultTimeouts } from '../../transport/create-transport.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import { ClockCheck } from '../clock-check.ts';
import { createMessagePath } from '../message-path/message-path.ts';
import { startSenderReport } from '../sender-report.ts';
import { groupSenderOptions, type SenderOptions } from '../sender-options.ts';
import { createSingleMessages, type SingleMessages } from './single-messages.ts';

export interface OpenSingleMessages extends Pick<SingleMessages, 'send' | 'sendPayload'> {
  /** Sends what was given before, waits for the answers, at most ten seconds, and closes the connections. */
  close(): Promise<void>;
}

/** @param options that `createSender` has checked */
export function openSingleMessages(options: SenderOptions): OpenSingleMessages {
  const {
    settings: given,
    encrypt,
    store,
    sendTimeoutMs,
    onWarning = () => {},
  } = groupSenderOptions(options);
  const { vapid, encryption } = given;
  const transportOptions = store === undefined ? given.transport : { ...given.transport, now: store.now };
  const settings = { ...given, transport: transportOptions };
  const transport = createTransport(transportOptions);
  const encryptBatch = encrypt ? createEncryptBatch(encrypt) : loadWhenNeeded(encryption);
  const clockCheck = new ClockCheck(onWarning);
  const { send, sendPayload, flush, close } = createSingleMessages({
    path: createMessagePath(settings, transport, encryptBatch, store, clockCheck),
    policy: createEndpointPolicy(transportOptions.pushServices),
    store,
    hasOtherKeys: (vapid.previousKeys ?? []).length > 0 || vapid.keyDirectory !== undefined,
    timeoutMs: sendTimeoutMs ?? connectAndAnswerMs(transportOptions),
    monotonicNow: transportOptions.monotonicNow ?? systemClock.monotonicNow,
    onWarning,
  });

  const endReport = store && startSenderReport(store.senders, transport, 'single', clockCheck);

  return {
    send,
    sendPayload,
    async close() {
      await flush();
      await transport.close();
      await endReport?.();
      await close();
    },
  };
}

/** Messages that are all refused are never encrypted. */
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
