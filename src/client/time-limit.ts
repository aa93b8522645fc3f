// Bounds how long something may take.

/** Of requests to the service and to the push service. */
export const defaultTimeoutMs = 15_000;
/** Of `beforeShow`. Browsers end a service worker that takes too long, and then nothing is shown. */
export const hookTimeoutMs = 10_000;
/** Within which a site registers the service worker of its own, where somebody subscribes before that. */
export const lateRegistrationMs = 5_000;
/** Of the browser's storage: a notification is shown also where that does not answer. */
export const storageTimeoutMs = 3_000;

/** Rejects where there is no result in time. */
export function withTimeLimit<Result>(limitMs: number, work: Result | Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No result within ${limitMs} ms.`)), limitMs);
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
