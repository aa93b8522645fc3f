// Tells an application which subscriptions were deleted as gone. Any thread or process may have deleted them. The
// store keeps them until they have been reported, so each is reported at least once.
import type { EndedSubscription, EndedSubscriptions } from '../../store/held-deletions.ts';

/**
 * Deskbell calls this hook for each subscription that a push service has ended. If the hook throws, Deskbell calls it
 * again later.
 */
export type GoneHook = (subscription: EndedSubscription) => void | Promise<void>;

const intervalMs = 1000;
const batchSize = 100;
/** How long a sender that is being closed retries failed reports. */
const maxCloseMs = 10_000;

/** Looks for ended subscriptions once a second until `close` is called. */
export function startGoneReports(
  ended: EndedSubscriptions,
  onGone: GoneHook,
  onWarning: (warning: string) => void,
) {
  let reporting = Promise.resolve();
  let isReporting = false;
  let isFailing = false;
  let closesAtMs = Infinity;

  /** Reports all ended subscriptions, even if `onGone` throws. @throws the first error of `onGone` */
  const report = async (): Promise<void> => {
    let failure: { readonly error: unknown } | undefined;
    let page: readonly EndedSubscription[] = [];
    do {
      page = await ended.list(batchSize, page.at(-1)?.id);
      for (const subscription of page) {
        try {
          await onGone(subscription);
        } catch (error) {
          if (performance.now() > closesAtMs) throw error;
          failure ??= { error };
          continue;
        }
        await ended.remove([subscription.id]);
      }
    } while (page.length === batchSize);
    if (failure !== undefined) throw failure.error;
  };
  /** Warns about the first of several failures in a row. */
  const reportSafely = async (): Promise<void> => {
    isReporting = true;
    try {
      await report();
      isFailing = false;
    } catch (error) {
      if (!isFailing) onWarning(`onGone is called again, because it or the store failed: ${String(error)}`);
      isFailing = true;
    }
    isReporting = false;
  };
  const timer = setInterval(() => {
    if (!isReporting) reporting = reportSafely();
  }, intervalMs).unref();

  return {
    /** Reports everything that has not been reported yet, then ends. */
    async close(): Promise<void> {
      clearInterval(timer);
      closesAtMs = performance.now() + maxCloseMs;
      await reporting;
      await reportSafely();
    },
  };
}
