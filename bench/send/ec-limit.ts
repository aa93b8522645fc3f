// The limit that no sender of fresh keys can pass: one P-256 key pair, its encoding and one ECDH per message, in C on
// Node's own OpenSSL. A process of its own posts the CPU microseconds per message.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';

const warmUpMessages = 500;
const messages = 15_000;

/**
 * Measures it, in a fresh process.
 *
 * @returns CPU µs per message
 * @throws {Error} there is no accelerator
 */
export async function measureEcLimit(): Promise<number> {
  const child = fork(import.meta.filename, { execArgv: [] });
  const [microseconds] = (await once(child, 'message')) as [number | null];
  if (microseconds === null) throw new Error('The EC limit needs the accelerator.');
  return microseconds;
}

if (import.meta.main) {
  process.send?.(measureHere());
  process.disconnect?.();
}

function measureHere(): number | null {
  const accelerator = loadAccelerator();
  if (accelerator.addon === undefined) return null;
  accelerator.addon.runEcOperations(warmUpMessages, false);
  const before = process.cpuUsage();
  accelerator.addon.runEcOperations(messages, false);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / messages;
}
