// Functions of the application that are told of something: nothing here may depend on how they do with it.

/**
 * Makes a function that calls another one, and does not throw what that throws or rejects with. The first time, that is a warning
 * of the process.
 *
 * @param name what the function is called in the warning
 */
export function guardCallback<Words extends readonly unknown[]>(
  name: string,
  callback: (...words: Words) => unknown,
): (...words: Words) => void {
  let isReported = false;
  const report = (error: unknown): void => {
    if (!isReported) process.emitWarning(`${name} threw, and what it throws is ignored: ${String(error)}`);
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
