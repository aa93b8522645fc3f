// Warnings about the whole installation rather than a broadcast, for logs, the console and /readyz.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { describeMissingKeys, missingKeysRemedy, readKeyRing } from '../../keys/vapid-key-files.ts';
import type { SendingPause } from '../../store/sending.ts';
import type { Store } from '../../store/store.ts';
import { clockRemedy, describeClock, toleratedClockMs } from '../reports/clock-check.ts';

export interface InstallationWarning {
  readonly code: 'store-failed' | 'sending-paused' | 'keys-missing' | 'clock-wrong';
  readonly detail: string;
  readonly remedy: string;
}

export type ReadWarnings = () => Promise<readonly InstallationWarning[]>;

/** The warnings are cached, because every page needs them and they seldom change. */
const cacheMs = 5000;

type WarnedStore = Pick<Store, 'sending' | 'vapidKeys' | 'senders' | 'check'>;

/**
 * @param keyDirectory the directory whose key files must contain the keys that the store needs. Default: no check
 * @returns a function that reads the warnings and caches them for a few seconds
 */
export function createWarningReader(store: WarnedStore, keyDirectory?: string): ReadWarnings {
  let cached: ReturnType<ReadWarnings> | undefined;
  let readAtMs = 0;
  return () => {
    if (cached !== undefined && performance.now() - readAtMs < cacheMs) return cached;
    readAtMs = performance.now();
    const reading = readAll(store, keyDirectory);
    cached = reading;
    reading.catch(() => (cached = undefined));
    return reading;
  };
}

async function readAll(store: WarnedStore, keyDirectory: string | undefined): ReturnType<ReadWarnings> {
  const { sending, vapidKeys, senders } = store;
  const warnings: InstallationWarning[] = [];
  try {
    await store.check();
  } catch (error) {
    // any other error is a bug
    if (!(error instanceof DeskbellError)) throw error;
    warnings.push({ code: 'store-failed', detail: error.message, remedy: storeRemedy });
  }
  const pause = await sending.findPause();
  if (pause !== undefined) {
    warnings.push({ code: 'sending-paused', detail: describePause(pause), remedy: pauseRemedy });
  }
  const missing = keyDirectory === undefined ? undefined : await lookForKeys(vapidKeys, keyDirectory);
  if (missing !== undefined) {
    warnings.push({ code: 'keys-missing', detail: missing, remedy: missingKeysRemedy });
  }
  const differences = (await senders.list()).flatMap(({ clockDifferenceMs }) => clockDifferenceMs ?? []);
  const wrong = differences.find((differenceMs) => Math.abs(differenceMs) > toleratedClockMs);
  if (wrong !== undefined) {
    warnings.push({ code: 'clock-wrong', detail: describeClock(wrong), remedy: clockRemedy });
  }
  return warnings;
}

/** @returns a description of the missing keys */
async function lookForKeys(vapidKeys: Store['vapidKeys'], directory: string): Promise<string | undefined> {
  const [known, counts] = await Promise.all([vapidKeys.list(), vapidKeys.countSubscriptions()]);
  try {
    return describeMissingKeys(known, counts, await readKeyRing(directory), directory);
  } catch (error) {
    if (error instanceof DeskbellError) return error.message;
    throw error;
  }
}

export const storeRemedy =
  'Nothing is stored or sent meanwhile, and browsers that register are answered with an error. It continues by itself once this is mended.';

const reasons = {
  restored: 'the store was restored from a backup',
  asked: 'by "deskbell sending pause"',
} as const satisfies Record<SendingPause['reason'], string>;

export const describePause = ({ sinceMs, reason }: Omit<SendingPause, 'broadcastIds'>): string =>
  `Sending has been paused since ${new Date(sinceMs).toISOString()} (${reasons[reason]}): schedules and webhook events wait, and ` +
  'earlier broadcasts are paused. Bells still ring.';

/** Explains a pause without saying when it began, for pages that show that time separately. */
export const explainPause = ({ reason }: Pick<SendingPause, 'reason'>): string =>
  `Reason: ${reasons[reason]}. Schedules and webhook events wait, and earlier broadcasts are paused.`;

export const pauseRemedy =
  '"deskbell sending show" prints what is waiting. If no other copy of the store sends, run "deskbell sending resume".';
