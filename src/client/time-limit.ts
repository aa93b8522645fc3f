// Bounds how long something may take.

/** Rejects where there is no result in time. */
export function withTimeLimit<Result>(limitMs: number, work: Result | Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`No result within ${limitMs} ms.`)), limitMs);
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
