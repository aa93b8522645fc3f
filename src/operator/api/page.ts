// Lists come in pages: `?limit=` and `?cursor=`, and in the answer `items` and `next`, the cursor of the next page.
import { idKeywords, modelOf, Type } from '../../http/schema.ts';
import type { View } from '../../operations/view.ts';

export const defaultLimit = 50;
const maxLimit = 500;

/** Query parameters of every list. A cursor is opaque to clients. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxLimit,
      default: defaultLimit,
      description: 'How many items a page has at most.',
    }),
  ),
  cursor: Type.Optional(
    Type.Integer({
      ...idKeywords,
      minimum: 0,
      description: '`next` of the page before; absent for the first page.',
    }),
  ),
};

/** A page of what a view shows, for the description. */
export const pageOf = (
  { schema, example }: Pick<View<never>, 'schema' | 'example'>,
  cursorType: 'integer' | 'string' = 'integer',
): Pick<View<never>, 'schema' | 'example'> => ({
  schema: Type.Model(
    `${modelOf(schema)}Page`,
    Type.Object({
      items: Type.Array(schema),
      next: Type.Unsafe({
        type: [cursorType, 'null'],
        description: 'The cursor of the next page; null after the last one.',
      }),
    }),
  ),
  example: { items: [example], next: null },
});

/** The same for a list in the order of names. */
export const namedPageQuery = {
  limit: pageQuery.limit,
  cursor: Type.Optional(
    Type.String({ description: '`next` of the page before; absent for the first page.' }),
  ),
};

/** Cuts a page out of a list that is short enough to be read whole; it comes in the order of names. */
export function cutPage<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  { limit = defaultLimit, cursor }: { readonly limit?: number; readonly cursor?: string },
): { readonly items: readonly Item[]; readonly next: string | undefined } {
  const rest = items
    .filter((item) => cursor === undefined || nameOf(item) > cursor)
    .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const page = rest.slice(0, limit);
  return { items: page, next: rest.length > limit ? nameOf(page.at(-1)!) : undefined };
}
