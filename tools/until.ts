// Waiting in tests and tools: always with a limit, and with a name for what is awaited.
import { setTimeout as sleep } from 'node:timers/promises';

/** Much more than a busy machine needs: it decides only how soon a failure is told. */
const defaultLimitMs = 90_000;
const longestPauseMs = 20;

/** A noun phrase; a function where the state at the end belongs to it. */
type What = string | (() => string);
type Falsy = false | 0 | '' | null | undefined;

/**
 * Asks until the condition holds: for what has no event.
 *
 * @returns what the condition held with
 * @throws {Error} the condition does not hold within `limitMs`; or what the condition throws
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  what: What,
  limitMs = defaultLimitMs,
): Promise<Exclude<T, Falsy>> {
  const startMs = performance.now();
  for (;;) {
    const found = await condition();
    if (found) return found as Exclude<T, Falsy>;
    const waitedMs = performance.now() - startMs;
    if (waitedMs >= limitMs) throw tooLate(what, limitMs);
    // often at first, so that nothing short takes long
    await sleep(Math.min(longestPauseMs, 2 + waitedMs / 20));
  }
}

/**
 * What the promise resolves to: for what has an event.
 *
 * @throws {Error} it does not within `limitMs`; or what it rejects with
 */
export async function within<T>(promise: Promise<T>, what: What, limitMs = defaultLimitMs): Promise<T> {
  const { promise: never, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooLate(what, limitMs)), limitMs);
  try {
    return await Promise.race([promise, never]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(what: What, limitMs: number): Error {
  return new Error(`Waited ${limitMs / 1000} s in vain for ${typeof what === 'string' ? what : what()}`);
}
