// Sizes and times of a worker: what it reads, holds and leases at once, and when it commits.

/** Sizes in rows, times in milliseconds. */
export const defaultWorkerSettings = {
  /** Rows of slices that are taken and not committed. */
  maxPageRows: 4096,
  /** Rows that are stored one by one while their answers are awaited: detached from a page, or leased as retries. */
  maxDetachedRows: 3072,
  /** How many of them may be retries. */
  maxRetryRows: 1536,
  retryLeaseRows: 256,
  readRows: 1024,
  /** Encrypted and posted together: switching between crypto and sockets row by row costs nearly twice as much. */
  batchRows: 64,
  /** A commit is made after this many results, … */
  commitRows: 1024,
  /** … after this many that are not acceptances, each of which may be a row of its own, … */
  commitOtherRows: 256,
  /** … or after this time. */
  commitEveryMs: 200,
  /** How long a row without an answer may delay the commit of those behind it. */
  maxCommitDelayMs: 1000,
  /** The same if more than half of the permitted rows are taken, so that soon no more can be sent. */
  crowdedCommitDelayMs: 100,
  /** While slices are being read, due retries are looked for this often. */
  leaseRetriesEveryMs: 100,
  /** How often rows that were put aside are leased early, if some had to be put aside again. */
  leaseAheadEveryMs: 50,
  /** How often to look for work if there was none. */
  leaseSliceEveryMs: 250,
  /** How often a worker that can reach no push service retries. */
  lookWhileCutOffMs: 2000,
  /** How long other workers leave this one's work alone without a sign of life. */
  leaseMs: 10_000,
  /** How long a stopped worker waits for answers. */
  stopGraceMs: 5000,
  /** A smaller audience takes at most a second of processor time, so a missing accelerator is not worth a warning. */
  warnFromAudience: 10_000,
  /** Rows that wait in memory for their push services, unless another one could be sent to. */
  waitingRows: 256,
  /** How long, plus some round trips, a row waits like this until it and others are put aside, … */
  patienceMs: 1000,
  /** … and for how long at least. */
  minAsideMs: 250,
  /** A push service that has answered nothing for this long gets no rows for this long. */
  silentAfterMs: 3000,
  /** How long rows of a push service that cannot be reached are put aside, unless it answers earlier. */
  heldMs: 60_000,
};

export type WorkerSettings = Readonly<typeof defaultWorkerSettings>;

/** Rows that a worker may have sent and not committed, including those of the commit in progress. */
export const maxUncommittedOf = ({ maxPageRows, maxDetachedRows }: WorkerSettings): number =>
  maxPageRows + maxDetachedRows;

/** How many messages a crash repeats at most, per thread. The documentation states it. */
export const maxUncommittedRows = maxUncommittedOf(defaultWorkerSettings);
