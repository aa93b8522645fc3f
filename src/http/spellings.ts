// Paths that differ in slashes alone. An application may have told its router to take them for one (`ignoreTrailingSlash`,
// `ignoreDuplicateSlashes`): then the router refuses the second as a duplicate, and its requests come to the first.

/** Adds the route of a second spelling, unless the router takes it for the first. */
export function addSpelling(add: () => unknown): void {
  try {
    add();
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;
  }
}
