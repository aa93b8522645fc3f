// A sample of the subscriptions, for figures that need not be exact: pages of rows that begin at ids which are equally far apart.
import type { PortableDatabase } from './portable-sql.ts';

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

type Extent = Readonly<Record<'subscriptions' | 'firstId' | 'lastId', number>>;

/**
 * @param readPages reads `limit` rows from behind each id on
 * @returns takes a sample of about so many rows
 */
export function createTagSample(
  { read, tables }: PortableDatabase,
  readPages: (afterIds: readonly number[], limit: number) => Promise<readonly SampledRow[]>,
): (rows: number) => Promise<TagSample> {
  // three scalar queries: min and max in one would read the whole index
  const selectExtent = `
    select (select coalesce(sum(subscriptions), 0) from ${tables.subscriptionCounts}) as subscriptions,
      coalesce((select min(id) from deskbell.subscriptions), 1) as "firstId",
      coalesce((select max(id) from deskbell.subscriptions), 0) as "lastId"`;
  return async (rows) => {
    const [extent] = await read<Extent>(selectExtent);
    const { afterIds, limit } = planSample(extent!, rows);
    const found = await readPages(afterIds, limit);
    // where ids are missing, pages have rows in common: each row is taken once
    const tags = new Map(found.map((row) => [row.id, row.tags]));
    return { subscriptions: extent!.subscriptions, rows: [...tags.values()] };
  };
}

/** The pages to read. All rows are one page. */
function planSample(
  { subscriptions, firstId, lastId }: Extent,
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
