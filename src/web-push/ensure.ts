// Throws plain errors, as the original does. Applications compare their texts.

export function ensure(isSo: unknown, message: string): asserts isSo {
  if (!isSo) throw new Error(message);
}
