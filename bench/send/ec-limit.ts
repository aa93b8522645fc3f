// What no sender of fresh keys can do without: one P-256 key pair and one ECDH per message, in C, on Node's own OpenSSL
// one after the other, and eight at a time where the processor can. A process of its own posts the CPU microseconds.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Addon } from '../../src/accelerator/addon.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';

export type EcMethod = 'openssl' | 'multi-buffer';

/** CPU µs per message; NaN where this machine does not offer the method. */
export type EcLimits = Readonly<Record<EcMethod, number>>;

const warmUpMessages = 800;
const messages = 16_000;
const scalingMs = 700;
const messagesAtOnce = 64;

/**
 * Measures them, in a fresh process.
 *
 * @throws {Error} there is no accelerator
 */
export async function measureEcLimits(): Promise<EcLimits> {
  const child = fork(import.meta.filename, ['limits'], { execArgv: [], serialization: 'advanced' });
  const [limits] = (await once(child, 'message')) as [EcLimits];
  return limits;
}

/**
 * How many times as much two processes do at once as one alone, by the fastest method: what the machine allows two threads.
 *
 * @throws {Error} there is no accelerator
 */
export async function measureEcScaling(): Promise<number> {
  const alone = await messagesOf(1);
  return (await messagesOf(2)) / alone;
}

/** Of so many processes together, in the same time. */
async function messagesOf(processes: number): Promise<number> {
  const children = Array.from({ length: processes }, () =>
    fork(import.meta.filename, ['scaling'], { execArgv: [] }),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  for (const child of children) child.send('go');
  const counts = await Promise.all(
    children.map(async (child) => ((await once(child, 'message')) as [number])[0]),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

if (import.meta.main) {
  const { addon } = loadAccelerator();
  if (addon === undefined) throw new Error('The EC limits need the accelerator.');
  if (process.argv[2] === 'limits') process.send?.(limitsOf(addon));
  else {
    addon.runEcOperations(warmUpMessages, addon.hasMultiBuffer());
    process.once('message', () => process.send?.(countMessages(addon)));
    process.send?.('ready');
  }
}

function limitsOf(addon: Addon): EcLimits {
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

function countMessages(addon: Addon): number {
  const endMs = performance.now() + scalingMs;
  let count = 0;
  for (; performance.now() < endMs; count += messagesAtOnce) {
    addon.runEcOperations(messagesAtOnce, addon.hasMultiBuffer());
  }
  return count;
}
