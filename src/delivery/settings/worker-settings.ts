// Sizes and times of a worker: what it reads, holds and leases at once, and when it commits.

/** Sizes in rows, times in milliseconds. */
export const defaultWorkerSettings = {
  /** Rows of slices that were taken and are not committed. */
  maxPageRows: 4096,
  /** Rows that are stored one by one while their answers are awaited: detached from a page, or leased as retries. */
  maxDetachedRows: 3072,
  /** How many of them may be retries. */
  maxRetryRows: 1536,
  /** Leased at once. */
  retryLeaseRows: 256,
  /** Read at once. */
  readRows: 1024,
  /** Encrypted together and posted together: switching between crypto and sockets row by row costs nearly twice. */
  batchRows: 64,
  /** A commit is made after this many results, … */
  commitRows: 1024,
  /** … after this many that are not acceptances, each of which may be a row of its own, … */
  commitOtherRows: 256,
  /** … or after this time. */
  commitEveryMs: 200,
  /** How long a row without an answer may keep those behind it from being committed, and so from being counted. */
  maxCommitDelayMs: 1000,
  /** The same where more than half of the rows that may be taken are, so that soon no further ones can be sent. */
  crowdedCommitDelayMs: 100,
  /** While slices are being read, due retries are looked for this often. */
  leaseRetriesEveryMs: 100,
  /** Rows that were put aside are leased before their time this often, if some of them had to be put aside again. */
  leaseAheadEveryMs: 50,
  /** How often work is looked for when there was none. */
  leaseSliceEveryMs: 250,
  /** How often a worker that can reach no push service tries to. */
  lookWhileCutOffMs: 2000,
  /** How long another worker leaves this one's work alone when nothing is heard of it. */
  leaseMs: 10_000,
  /** How long a worker that is stopped waits for answers. */
  stopGraceMs: 5000,
  /** A smaller audience takes a second of processor time at most, so that a missing accelerator is not worth a warning. */
  warnFromAudience: 10_000,
  /** Rows that wait for their push services in memory, unless another one could be sent to. */
  waitingRows: 256,
  /** How long a row waits like this, plus some round trips, until it and others are put aside, … */
  patienceMs: 1000,
  /** … and for how long at least. */
  minAsideMs: 250,
  /** A push service that has answered nothing for this long gets no further rows for this long. */
  silentAfterMs: 3000,
  /** How long rows are put aside to whose push service nothing can be sent, unless one of them is answered before. */
  heldMs: 60_000,
};

/** Sizes and times of a worker. */
export type WorkerSettings = Readonly<typeof defaultWorkerSettings>;

/** Rows that a worker may have sent and not committed, those of a commit that is on its way included. */
export const maxUncommittedOf = ({ maxPageRows, maxDetachedRows }: WorkerSettings): number =>
  maxPageRows + maxDetachedRows;

/** How many messages a crash repeats at most, for each thread. The documentation names it. */
export const maxUncommittedRows = maxUncommittedOf(defaultWorkerSettings);
