// Does one run in a fresh process, and believes it only when nginx and the sample say the same.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Job, JobResult } from './job.ts';
import type { PushServices } from './push-services.ts';
import type { SampleReader } from './sample-reader.ts';
import { copyDatabase, type Workload } from './workload.ts';

const longestRunMs = 120_000;

export interface Place {
  readonly folder: string;
  readonly vapid: Job['vapid'];
  readonly pushServices: PushServices;
  readonly sampleReader: SampleReader;
}

/** What differs between runs. */
export interface Run extends Pick<
  Job,
  'sender' | 'packageFolder' | 'origin' | 'inFlight' | 'threads' | 'encryption'
> {
  readonly workload: Workload;
}

export interface Measured {
  /** CPU time of the sending process per delivered message, all threads, user and system. */
  readonly cpuMicroseconds: number;
  readonly perSecond: number;
  readonly peakMegabytes: number;
  /** CPU time of the push service per message, on the same cores; NaN where that cannot be told. */
  readonly serviceMicroseconds: number;
}

/** @throws {Error} a message was not answered with 201, or not delivered exactly once, or not what was to be sent */
export async function measure(
  run: Run,
  { folder, vapid, pushServices, sampleReader }: Place,
): Promise<Measured> {
  const { workload, ...job } = run;
  const databasePath = await copyDatabase(workload, folder);
  const { certificatePath } = pushServices;
  const requestsBefore = await pushServices.requests();
  const serviceBefore = await pushServices.cpuSeconds();
  const child = fork(join(import.meta.dirname, 'sender-process.ts'), {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: certificatePath },
    execArgv: [],
  });
  child.send({ ...job, ...workload, databasePath, vapid, certificatePath } satisfies Job & Workload);
  const result = await resultOf(child);
  // asking is a request too
  const requests = (await pushServices.requests()) - requestsBefore - 1;
  const serviceAfter = await pushServices.cpuSeconds();
  const samples = sampleReader.take();
  for (const file of [databasePath, `${databasePath}-wal`, `${databasePath}-shm`])
    await rm(file, { force: true });

  const { count } = workload;
  const counts = { accepted: result.accepted, requests, samples };
  if (result.accepted !== count || requests !== count || samples !== workload.samples) {
    throw new Error(`${run.sender}: of ${count} messages came ${JSON.stringify(counts)}.`);
  }
  return {
    cpuMicroseconds: result.cpuMicroseconds / count,
    perSecond: (count / result.elapsedMs) * 1000,
    peakMegabytes: result.peakMegabytes,
    serviceMicroseconds: (((serviceAfter ?? Number.NaN) - (serviceBefore ?? Number.NaN)) * 1e6) / count,
  };
}

async function resultOf(child: ChildProcess): Promise<JobResult> {
  const timer = setTimeout(() => child.kill('SIGKILL'), longestRunMs);
  const [first, signal] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
    unknown,
    unknown,
  ];
  if (typeof first !== 'object' || first === null) {
    throw new Error(`The sending process ended with ${String(first ?? signal)}.`);
  }
  if (child.exitCode === null) await once(child, 'exit');
  clearTimeout(timer);
  return first as JobResult;
}
