// The limit that no sender of fresh keys can pass: one P-256 key pair, its encoding and one ECDH per message, in C on
// Node's own OpenSSL. A process of its own posts the CPU microseconds per message.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';

const warmUpMessages = 500;
const messages = 15_000;

/** @returns CPU µs per message; `undefined` where there is no accelerator */
export async function measureEcLimit(): Promise<number | undefined> {
  const [microseconds] = (await once(fork(import.meta.filename, { execArgv: [] }), 'message')) as [
    number | null,
  ];
  return microseconds ?? undefined;
}

if (import.meta.main) {
  const accelerator = loadAccelerator();
  if (accelerator.kind === 'native') {
    accelerator.addon.runEcOperations(warmUpMessages);
    const before = process.cpuUsage();
    accelerator.addon.runEcOperations(messages);
    const { user, system } = process.cpuUsage(before);
    process.send?.((user + system) / messages);
  } else process.send?.(null);
  process.disconnect?.();
}
