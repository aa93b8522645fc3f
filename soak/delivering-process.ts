// Starts processes for the soak tests that deliver what a store has.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { SenderOptions } from '../src/delivery/sender.ts';
import type { StoreAddress } from '../src/store/store.ts';

/** The process ends after SIGTERM. @param options `store` is opened from the address */
export const startDelivering = (
  address: StoreAddress | undefined,
  options: Omit<SenderOptions, 'store'>,
): ChildProcess =>
  spawn(
    process.execPath,
    [join(import.meta.dirname, 'delivering-child.ts'), JSON.stringify(address), JSON.stringify(options)],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
