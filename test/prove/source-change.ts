// Small changes of the source that break a requirement. `npm run prove` makes each in a copy of the tree and
// expects its test to fail.

export interface SourceChange {
  /** What is wrong after the change, as a clause: "Request-Time is always 0". */
  readonly what: string;
  /** The file to change, relative to the root. */
  readonly file: string;
  /** Text that stands exactly once in the file. Short and without line breaks, so that it outlives restructuring. */
  readonly search: string;
  readonly replacement: string;
  /** The test that notices it, where that is not the one of the requirement. `title` may be the beginning of a title. */
  readonly test?: { readonly file: string; readonly title: string };
}

/** By requirement, in the words of the title of its test. */
export type ClaimChanges = Readonly<Record<string, readonly SourceChange[]>>;

/**
 * Changes of one file, each under what is wrong after it.
 *
 * @param test what notices them, where that is not the test of the requirement
 */
export function changesOf(
  file: string,
  changes: Readonly<Record<string, readonly [search: string, replacement: string]>>,
  test?: SourceChange['test'],
): readonly SourceChange[] {
  return Object.entries(changes).map(([what, [search, replacement]]) => {
    return { what, file, search, replacement, ...(test && { test }) };
  });
}
