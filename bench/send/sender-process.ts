// A process that does one run: it takes a job, makes ready, sends, and posts what that took. Only sending is measured;
// loading the library and reading the list are not.
import { prepareDeskbell } from './deskbell-senders.ts';
import type { Job, JobResult } from './job.ts';
import { npmSenders, prepareNpmSender } from './npm-senders.ts';

process.once('message', (job: Job) => void run(job));

async function run(job: Job): Promise<void> {
  const npmSender = npmSenders[job.sender];
  const prepared = await (npmSender ? prepareNpmSender(npmSender, job) : prepareDeskbell(job));
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
