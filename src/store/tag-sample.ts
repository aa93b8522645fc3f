// A sample of the subscriptions, for figures that need not be exact: pages of rows that begin at ids which are equally far apart.

export interface TagSample {
  /** How many subscriptions there are. */
  readonly subscriptions: number;
  /** The tags of each subscription that was looked at: of all of them, where they are no more than were asked for. */
  readonly rows: readonly (readonly string[])[];
}

export interface SampledRow {
  readonly id: number;
  readonly tags: readonly string[];
}

const maxPages = 100;
/** Fewer would follow any order in which the rows came. */
const minPageRows = 20;

/** The pages to read: `limit` rows from behind each id on. All rows are one page. */
export function planSample(
  { subscriptions, firstId, lastId }: Record<'subscriptions' | 'firstId' | 'lastId', number>,
  rows: number,
): { readonly afterIds: readonly number[]; readonly limit: number } {
  if (subscriptions <= rows) return { afterIds: [firstId - 1], limit: rows };
  const pages = Math.min(maxPages, Math.ceil(rows / minPageRows));
  const step = (lastId - firstId + 1) / pages;
  return {
    afterIds: Array.from({ length: pages }, (_, page) => firstId - 1 + Math.floor(page * step)),
    limit: Math.floor(rows / pages),
  };
}

/** Where ids are missing, pages have rows in common: each row is taken once. */
export const tagsOfSample = (rows: readonly SampledRow[]): TagSample['rows'] => [
  ...new Map(rows.map(({ id, tags }) => [id, tags])).values(),
];
