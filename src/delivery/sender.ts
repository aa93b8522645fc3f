// The sender for applications: single messages and broadcasts with one configuration. `createSender` checks its options; the rest
// (transport, encryption, workers) is loaded with the first message or broadcast, so that importing the sender is cheap.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createVapidAuthorizer } from '../protocol/vapid.ts';
import { readAddressSettings } from '../transport/address-settings.ts';
import { checkSenderOptions } from './check-sender-options.ts';
import { startGoneReports } from './reports/gone-hook.ts';
import { guardCallbacks, type SenderOptions } from './settings/sender-options.ts';
import type { Sender } from './sender-interface.ts';
import { resolveThreadCount } from './worker/thread-count.ts';

export type { SendResult } from './message-path/post.ts';
export type { Sender } from './sender-interface.ts';
export type { SendOptions } from './single/reader.ts';
export type { GivenReader } from './single/reader.ts';
export type { SenderOptions } from './settings/sender-options.ts';
export type { SenderVapid } from './settings/settings.ts';
export type { SubscriptionInput } from './message-path/subscription-input.ts';

/**
 * Makes a sender. It opens connections when there is something to send and keeps them; one is enough for a process.
 *
 * @example
 * const { store, vapidKeys } = await openDataDirectory('deskbell-data');
 * const sender = createSender({ store, vapid: { ...vapidKeys, subject: 'mailto:you@example.org' } });
 * const { outcome } = await sender.send(subscription, { title: 'Hello', message: 'Backups are done' });
 * const run = await sender.broadcast('all', { title: 'Hello', message: 'Backups are done' });
 * const { counts } = await run.finished;
 * await sender.close();
 * @throws {DeskbellError} ERR_VAPID_KEY_INVALID, ERR_VAPID_SUBJECT_INVALID, ERR_CONFIGURATION
 */
export function createSender(options: SenderOptions): Sender {
  assertUsable(options);
  const guarded = guardCallbacks(options);
  let closing: Promise<void> | undefined;

  const lazily = <Part>(load: () => Promise<Part>): Lazy<Part> => {
    let loaded: Promise<Part> | undefined;
    return {
      open() {
        if (closing === undefined) return (loaded ??= load());
        throw new DeskbellError('ERR_CLOSED', 'The sender is closed and sends nothing any more.');
      },
      opened: () => loaded?.catch(() => undefined),
    };
  };
  const single = lazily(async () =>
    (await import('./single/single-messages.ts')).openSingleMessages(guarded),
  );
  const broadcaster = lazily(async () => (await import('./broadcaster.ts')).openBroadcaster(guarded));
  const { store, onGone, onWarning } = guarded;
  // From now on, even if nothing is sent.
  const goneReports = store && onGone && startGoneReports(store.ended, onGone, onWarning);

  const close = async (): Promise<void> => {
    // includes what was given to the sender while it was loaded
    const [messages, broadcasts] = await Promise.all([single.opened(), broadcaster.opened()]);
    await Promise.all([messages?.close(), broadcasts?.close()]);
    await goneReports?.close();
  };

  return {
    send: async (...message) => (await single.open()).send(...message),
    sendPayload: async (...message) => (await single.open()).sendPayload(...message),
    broadcast: async (...message) => (await broadcaster.open()).broadcast(...message),
    createBroadcast: async (...message) => (await broadcaster.open()).createBroadcast(...message),
    createSchedule: async (...schedule) => (await broadcaster.open()).createSchedule(...schedule),
    resume: async (broadcastId) => (await broadcaster.open()).resume(broadcastId),
    work: async (signal, onFault) => (await broadcaster.open()).work(signal, onFault),
    close: () => (closing ??= close()),
  };
}

/** Loaded on first use: making broadcasts need not load what sends single messages. */
interface Lazy<Part> {
  /** @throws {DeskbellError} ERR_CLOSED */
  open(): Promise<Part>;
  /** `undefined` if it was not used; resolves to undefined if it could not be loaded. */
  opened(): Promise<Part | undefined> | undefined;
}

/** Finds faults that would otherwise surface later. */
function assertUsable(options: SenderOptions): void {
  checkSenderOptions(options);
  readAddressSettings(options);
  const { vapid, store, threads } = options;
  const { subject, lifetimeSeconds, previousKeys = [] } = vapid;
  for (const keys of [vapid, ...previousKeys]) createVapidAuthorizer({ keys, subject, lifetimeSeconds });
  // These are called in this thread, whoever delivers.
  const forThreads = { ...options, onWarning: undefined, onGone: undefined, onFigures: undefined };
  if (store !== undefined) resolveThreadCount(threads, forThreads);
}
