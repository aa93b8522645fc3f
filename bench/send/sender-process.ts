// A process that does one run: it takes a job, makes ready, sends, and posts what that took. Only sending is measured;
// loading the library and reading the list are not.
import type { Prepared } from './in-flight.ts';
import type { Job, JobResult } from './job.ts';

process.once('message', (job: Job) => void run(job));

async function run(job: Job): Promise<void> {
  const prepared = await prepare(job);
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const accepted = await prepared.send();
  const { user, system } = process.cpuUsage(cpuBefore);
  const result: JobResult = {
    accepted,
    elapsedMs: performance.now() - startedAt,
    cpuMicroseconds: user + system,
    peakMegabytes: process.resourceUsage().maxRSS / 1024,
  };
  await prepared.close();
  process.send?.(result, () => process.exit());
}

/** Loads nothing but what this sender needs: memory is measured too. */
async function prepare(job: Job): Promise<Prepared> {
  const { prepareSender } = job.sender.startsWith('deskbell')
    ? await import('./deskbell-senders.ts')
    : await import('./npm-senders.ts');
  return prepareSender(job);
}
