import { setTimeout } from 'node:timers/promises';

const waitMs = 30_000;

/** Browsers take their time: asks again and again until it is so. */
export async function until(isSo: () => Promise<boolean>, complaint: () => string): Promise<void> {
  const endMs = Date.now() + waitMs;
  while (!(await isSo())) {
    if (Date.now() > endMs) throw new Error(complaint());
    await setTimeout(50);
  }
}
