// A part of a list, and where it goes on: what the API answers with, and the console shows with a link to the next.

export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page; absent after the last one. */
  readonly next?: number | undefined;
}

/**
 * Reads one page and finds out whether there is another.
 *
 * @param read gives at most so many items, in the order of the list
 */
export async function readPage<Item extends { readonly id: number }>(
  limit: number,
  read: (limit: number) => Promise<readonly Item[]>,
): Promise<ListPage<Item>> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  return { items, next: found.length > limit ? items.at(-1)?.id : undefined };
}
