// Run by a Node of another platform (other-machines.ts): prints which accelerator of a folder it takes, and what came of it,
// here and in a thread, as broadcasts use them.
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

import { addonFile, describePlatform } from '../../src/accelerator/addon.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';
import type { Trial } from './other-machines.ts';

const [, , command, folder, cacheFolder] = process.argv;
// The check starts this Node once more, for which it needs its emulator or loader again.
process.execPath = command!;
const { method, reason } = loadAccelerator({ file: addonFile(folder), cacheFolder });
const trial: Trial = {
  platform: describePlatform(),
  node: process.version,
  method,
  ...(reason !== undefined && { reason }),
};
if (isMainThread) {
  const thread = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
  const [inThread] = (await once(thread, 'message')) as [Trial];
  process.stdout.write(JSON.stringify(inThread.method === method ? trial : inThread));
} else {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
  parentPort?.postMessage(trial);
}
