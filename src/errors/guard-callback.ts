/**
 * Wraps a callback so that it neither throws nor rejects; its first error becomes a process warning.
 *
 * @param name of the callback, for the warning
 */
export function guardCallback<Words extends readonly unknown[]>(
  name: string,
  callback: (...words: Words) => unknown,
): (...words: Words) => void {
  let isReported = false;
  const report = (error: unknown): void => {
    if (!isReported)
      process.emitWarning(`${name} threw an error, and its errors are ignored: ${String(error)}`);
    isReported = true;
  };
  return (...words) => {
    try {
      const result = callback(...words);
      if (result instanceof Promise) result.catch(report);
    } catch (error) {
      report(error);
    }
  };
}
