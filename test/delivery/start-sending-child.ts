// Starts sending-child.ts: a sender in a process of its own, for tests that kill it.
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { SenderOptions } from '../../src/delivery/sender.ts';
import type { VapidKeys } from '../../src/protocol/vapid.ts';
import type { StoreAddress } from '../../src/store/store.ts';

export interface SendingTask {
  readonly address: StoreAddress;
  /** Of the push service. */
  readonly origin: string;
  readonly vapidKeys: VapidKeys;
  /** What JSON can hold. */
  readonly options?: Partial<SenderOptions>;
}

export function startSendingChild(task: SendingTask): ChildProcess {
  const program = join(import.meta.dirname, 'sending-child.ts');
  return spawn(process.execPath, [program, JSON.stringify(task)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}
