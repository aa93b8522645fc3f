// The heap of a delivery thread. V8's flags for heap sizes, which people set in NODE_OPTIONS for the whole process, override the limits of
// a thread: with `--max-semi-space-size=32` its young generation is larger than its old one may grow, V8 marks the old one without end, and
// a message takes twice as much processor time; with `--max-old-space-size` garbage piles up.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { Worker, type WorkerOptions as ThreadOptions } from 'node:worker_threads';

// a worker uses about 25 MB; without a limit V8 lets garbage pile up to many times that
const resourceLimits = { maxYoungGenerationSizeMb: 18, maxOldGenerationSizeMb: 64 };

/**
 * A row lives for about 30 ms. While a thread warms up, that is longer than the young generation lasts, and V8 concludes that rows are
 * long-lived: each then costs its share of collecting the old generation, 3 % in all.
 */
const pretenuringFlag = '--no-allocation-site-pretenuring';

const sizeFlags = ['max-semi-space-size', 'min-semi-space-size', 'max-old-space-size', 'max-heap-size'];

/** Threads that do not run yet. */
let starting = 0;

/** Starts a thread with the heap limits of a delivery thread, whatever flags this process was started with. */
export function startThread(file: string, options: ThreadOptions): Worker {
  setFlagsFromString(pretenuringFlag);
  // V8 reads the flags when the thread makes its heap; later threads of the process get its own flags again
  if (starting === 0) for (const flag of sizeFlags) setFlagsFromString(`--${flag}=0`);
  starting += 1;
  const thread = new Worker(file, { ...options, resourceLimits });
  let isCounted = true;
  const onStarted = () => {
    if (!isCounted) return;
    isCounted = false;
    starting -= 1;
    if (starting === 0) for (const flag of sizeFlags) setFlagsFromString(`--${flag}=${sizeGiven(flag)}`);
  };
  // if its heap cannot be made, it exits without having started
  return thread.once('online', onStarted).once('exit', onStarted);
}

/** The flag that the process was started with, in MB; 0 is V8's default. */
function sizeGiven(flag: string): number {
  const given = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ').replaceAll('_', '-');
  // a share of the memory, which Node has turned into a number: this thread's own limit takes precedence
  const isShare = flag === 'max-old-space-size' && given.includes(`--${flag}-percentage`);
  if (isShare) return Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20);
  return Number([...given.matchAll(new RegExp(`--${flag}[= ](\\d+)`, 'g'))].at(-1)?.[1] ?? 0);
}
