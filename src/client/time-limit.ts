// How long the client waits for the service, the push service and the browser.
export const defaultTimeoutMs = 15_000;
/** How long `beforeShow` may take. Browsers end a service worker that takes too long, and then nothing is shown. */
export const hookTimeoutMs = 10_000;
export const lateRegistrationMs = 5_000;
/** How long to wait for the browser's storage. A notification is shown even if the storage does not respond. */
export const storageTimeoutMs = 3_000;

/** All work that holds a lock needs a time limit, because other pages wait for the lock. */
export function withTimeLimit<Result>(
  limitMs: number,
  work: Result | Promise<Result>,
  what = 'result',
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No ${what} within ${limitMs} ms.`)), limitMs);
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
