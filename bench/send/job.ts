// One run, as it is handed to a fresh process and comes back.
import type { EncryptionMethod } from '../../src/accelerator/encryption-methods.ts';

export interface Job {
  /** `deskbell …`, or one of npm's by its name. */
  readonly sender: string;
  /** Deskbell as it is installed: a folder with `dist`, and perhaps `prebuilds` with the accelerator in it. */
  readonly packageFolder: string;
  readonly vapid: { readonly publicKey: string; readonly privateKey: string; readonly subject: string };
  readonly origin: string;
  readonly certificatePath: string;
  /** A copy of its own, for broadcasts. */
  readonly databasePath: string;
  /** A line of JSON per subscription, for senders of single messages. */
  readonly listPath: string;
  /** The first so many of the list. */
  readonly count: number;
  /** For senders of single messages. */
  readonly inFlight: number;
  /** For broadcasts. */
  readonly threads: number;
  /** The fastest method of encryption that Deskbell may use; absent for its default. */
  readonly encryption?: EncryptionMethod | undefined;
}

export interface JobResult {
  /** Messages that the push service answered with 201. */
  readonly accepted: number;
  readonly elapsedMs: number;
  /** Of all threads, user and system. */
  readonly cpuMicroseconds: number;
  /** The most that the process ever held. */
  readonly peakMegabytes: number;
}
