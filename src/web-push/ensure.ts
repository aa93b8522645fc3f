// The checks of the original throw plain errors. Their texts are an interface: applications compare them.

/** @throws {Error} with this message, where it is not so */
export function ensure(isSo: unknown, message: string): asserts isSo {
  if (!isSo) throw new Error(message);
}
