// A router that treats paths as one although their slashes differ refuses the second route as a duplicate.

/** Adds a route for a second spelling, unless the router treats both as one. */
export function addSpelling(add: () => unknown): void {
  try {
    add();
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error;
  }
}
