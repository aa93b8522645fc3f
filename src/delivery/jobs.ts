// What runs in this process until it ends by itself or is stopped.

export interface Job {
  readonly ended: Promise<void>;
  /** Resolves when it has ended, however. */
  stop(): Promise<void>;
}

export class Jobs {
  readonly #running = new Set<Job>();

  /** @param work ends soon after its signal is aborted */
  start(work: (signal: AbortSignal) => Promise<void>): Job {
    const controller = new AbortController();
    const ended = work(controller.signal);
    const stop = async (): Promise<void> => {
      controller.abort();
      await Promise.allSettled([ended]);
    };
    const job: Job = { ended, stop };
    this.#running.add(job);
    const forget = () => this.#running.delete(job);
    ended.then(forget, forget);
    return job;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((job) => job.stop()));
  }
}
