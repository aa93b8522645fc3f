// What no sender of fresh keys can do without: one P-256 key pair and one ECDH per message, in C, on Node's own OpenSSL
// one after the other, and eight at a time where the processor can. A process of its own posts the CPU microseconds.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';

export type EcMethod = 'openssl' | 'multi-buffer';

/** CPU µs per message; NaN where this machine does not offer the method. */
export type EcLimits = Readonly<Record<EcMethod, number>>;

const warmUpMessages = 800;
const messages = 16_000;

/**
 * Measures them, in a fresh process.
 *
 * @throws {Error} there is no accelerator
 */
export async function measureEcLimits(): Promise<EcLimits> {
  const child = fork(import.meta.filename, { execArgv: [], serialization: 'advanced' });
  const [limits] = (await once(child, 'message')) as [EcLimits | null];
  if (limits === null) throw new Error('The EC limits need the accelerator.');
  return limits;
}

if (import.meta.main) {
  process.send?.(measureHere());
  process.disconnect?.();
}

function measureHere(): EcLimits | null {
  const { addon } = loadAccelerator();
  if (addon === undefined) return null;
  const measure = (usesMultiBuffer: boolean): number => {
    addon.runEcOperations(warmUpMessages, usesMultiBuffer);
    const before = process.cpuUsage();
    addon.runEcOperations(messages, usesMultiBuffer);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / messages;
  };
  return {
    openssl: measure(false),
    'multi-buffer': addon.hasMultiBuffer() ? measure(true) : Number.NaN,
  };
}
