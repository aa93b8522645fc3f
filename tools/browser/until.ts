import { setTimeout } from 'node:timers/promises';

const waitMs = 30_000;

/** Polls until the condition holds: what a browser does has no event here. */
export async function until(condition: () => Promise<boolean>, message: () => string): Promise<void> {
  const endMs = Date.now() + waitMs;
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error(message());
    await setTimeout(50);
  }
}
