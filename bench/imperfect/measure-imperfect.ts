// One broadcast against push services that are as imperfect as they are told to be, with the sender in this process.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { defaultRetryPolicy } from '../../src/delivery/settings/retry-policy.ts';
import { broadcastMessage } from '../broadcast/message.ts';
import { seedSubscriptions } from '../broadcast/seed.ts';
import type { Behaviour, PushServiceReport } from './push-service-process.ts';

/** What one broadcast came to; times in milliseconds. */
export interface MeasuredRun {
  /** From the first request until every row of the push services that answer had its first attempt. */
  readonly firstAttemptsMs: number;
  /** Of the rows that were refused, how late the last one was sent, at least: the random quarter of its wait is left out. */
  readonly latenessMs: number;
  /** From the last request until the broadcast had ended; absent where one hangs. */
  readonly endMs: number | undefined;
}

interface PushServiceChild {
  readonly process: ChildProcess;
  readonly origin: string;
  readonly cert: string;
}

export class ImperfectBench {
  readonly #directory: string;
  readonly #pushServices: readonly PushServiceChild[];
  readonly #database: string | undefined;

  private constructor(
    directory: string,
    pushServices: readonly PushServiceChild[],
    database: string | undefined,
  ) {
    this.#directory = directory;
    this.#pushServices = pushServices;
    this.#database = database;
  }

  /** @param rows of all push services @param database URL of PostgreSQL; without it SQLite */
  static async open(pushServices: number, rows: number, database?: string): Promise<ImperfectBench> {
    const directory = await mkdtemp(join(tmpdir(), 'deskbell-imperfect-'));
    const children = await Promise.all(Array.from({ length: pushServices }, startPushService));
    const origins = children.map(({ origin }) => origin);
    await seedSubscriptions(directory, origins, rows, database);
    return new ImperfectBench(directory, children, database);
  }

  async run(behaviours: readonly Behaviour[], threads: number): Promise<MeasuredRun> {
    for (const [index, { process }] of this.#pushServices.entries()) process.send(behaviours[index]!);
    const hangs = behaviours.some((behaviour) => behaviour.hangs === true);
    const data = await openDataDirectory(this.#directory, { database: this.#database });
    const sender = createSender({
      store: data.store,
      vapid: { ...data.vapidKeys, subject: 'mailto:bench@example.org' },
      pushServices: this.#pushServices.map(({ origin }) => origin),
      ca: this.#pushServices.map(({ cert }) => cert),
      threads,
    });
    const run = await sender.broadcast('all', broadcastMessage);
    if (hangs) {
      const wanted = (run.broadcast.recipients * (behaviours.length - 1)) / behaviours.length;
      for await (const { broadcast } of run.progress()) if (broadcast.counts.accepted >= wanted) break;
      await run.stop();
      await data.store.broadcasts.cancel(run.broadcast.id);
    } else await run.finished;
    const endedAtMs = Date.now();
    await sender.close();
    await data.close();
    const reports = await Promise.all(this.#pushServices.map(reportOf));
    const answering = reports.filter((_, index) => behaviours[index]!.hangs !== true);
    const returned = answering.flatMap(({ returnedAfterMs }) => returnedAfterMs);
    return {
      firstAttemptsMs: Math.max(...answering.map(({ lastFirstMs }) => lastFirstMs)),
      latenessMs: Math.max(0, ...returned.map((ms) => ms - 1.25 * defaultRetryPolicy.firstDelayMs)),
      endMs: hangs ? undefined : endedAtMs - Math.max(...answering.map(({ lastAtMs }) => lastAtMs)),
    };
  }

  async close(): Promise<void> {
    for (const { process } of this.#pushServices) process.kill();
    await rm(this.#directory, { recursive: true });
  }
}

async function startPushService(): Promise<PushServiceChild> {
  const child = fork(join(import.meta.dirname, 'push-service-process.ts'));
  const [{ origin, cert }] = (await once(child, 'message')) as [Omit<PushServiceChild, 'process'>];
  return { process: child, origin, cert };
}

async function reportOf({ process }: PushServiceChild): Promise<PushServiceReport> {
  process.send('report');
  const [report] = (await once(process, 'message')) as [PushServiceReport];
  return report;
}
