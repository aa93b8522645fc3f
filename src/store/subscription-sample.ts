// A random sample of the subscriptions, for figures that need not be exact. The number of rows to read is limited,
// however many subscriptions there are and however their ids are distributed.
//
// Windows are read: the rows after randomly drawn ids. A row after a gap is more likely to be found, so each row is
// weighted by its chance (the Hansen-Hurwitz estimator). The ids before the drawn id are read too, to know this chance
// exactly. The first two rounds only find out where rows are, so that the last round rarely draws in gaps.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PortableDatabase } from './portable-sql.ts';

export interface SubscriptionSample {
  /** Number of stored subscriptions. */
  readonly subscriptions: number;
  /** True if the sample contains all subscriptions. */
  readonly isWhole: boolean;
  /** Windows are chosen independently. The rows of one window have neighbouring ids, so they may be similar. */
  readonly windows: readonly (readonly SampledRow[])[];
}

export interface SampledRow extends FoundRow {
  /** Number of stored subscriptions that this subscription represents. */
  readonly weight: number;
}

export interface FoundRow {
  readonly id: number;
  readonly endpoint: string;
  readonly user: string | null;
  readonly tags: readonly string[];
}

/** The ids and rows that a database finds around an id. */
interface FoundWindow {
  /** The last ids up to and including the given id, in ascending order. */
  readonly before: readonly number[];
  /** The first rows after the given id, in ascending order. */
  readonly rows: readonly FoundRow[];
}

const windowRows = 10;
/** Each round reads this fraction of the sample's number of windows. */
const rounds = [1 / 8, 1 / 8, 1] as const;
/** Number of windows that one statement reads. */
const readTogether = 100;

type Extent = Readonly<Record<'subscriptions' | 'firstId' | 'lastId', number>>;

/** @returns a function that takes a sample of about `rows` rows; `random` works like `Math.random` */
export function createSampler(
  database: PortableDatabase,
): (rows: number, random?: () => number) => Promise<SubscriptionSample> {
  // three scalar queries, because min and max in one query would read the whole index
  const selectExtent = `
    select (select coalesce(sum(subscriptions), 0) from deskbell.subscription_counts) as subscriptions,
      coalesce((select min(id) from deskbell.subscriptions), 1) as "firstId",
      coalesce((select max(id) from deskbell.subscriptions), 0) as "lastId"`;
  const readWindows = createWindowReader(database);
  return async (rows, random = Math.random) => {
    const [extent] = await database.read<Extent>(selectExtent);
    const { subscriptions, firstId, lastId } = extent!;
    const afterId = firstId - 1;
    if (subscriptions <= rows) {
      const [all] = await readWindows([afterId], rows);
      const whole = all!.rows.map((row) => ({ ...row, weight: 1 }));
      return { subscriptions, isWhole: true, windows: [whole] };
    }
    const runs: (readonly number[])[] = [];
    let ranks: Ranks = [
      { id: afterId, rank: 0 },
      { id: lastId, rank: 1 },
    ];
    let windows: SubscriptionSample['windows'] = [];
    for (const part of rounds) {
      const draws = Math.ceil((rows / windowRows) * part);
      // divide the ranks into ranges of equal size, and draw once in each range
      const ids = Array.from({ length: draws }, (_, draw) => idAt(ranks, (draw + random()) / draws));
      const found = await readWindows(ids, windowRows);
      windows = found.map((window) => weigh(window, ranks, draws));
      runs.push(...found.map(({ before, rows: behind }) => [...before, ...behind.map(({ id }) => id)]));
      ranks = estimateRanks(runs, { subscriptions, firstId, lastId });
    }
    return { subscriptions, isWhole: false, windows };
  };
}

function createWindowReader({ read, readJson, jsonArray, jsonObject, tags, elementsOf }: PortableDatabase) {
  const selectWindows = `
    select
      (select ${jsonArray}(id) from (
         select id from deskbell.subscriptions where id <= w.id order by id desc limit :limit) b) as before,
      (select ${jsonArray}(${jsonObject}('id', s.id, 'endpoint', s.endpoint, 'user', s.user_name, 'tags', ${tags.ofRow}))
       from (select * from deskbell.subscriptions where id > w.id order by id limit :limit) s) as behind
    from (select cast(value as bigint) as id from ${elementsOf('ids')}) w`;
  /** Returns a window for each id: at most `limit` ids up to and including it, and at most `limit` rows after it. */
  return async (ids: readonly number[], limit: number): Promise<readonly FoundWindow[]> => {
    const windows: FoundWindow[] = [];
    for (let first = 0; first < ids.length; first += readTogether) {
      const some = JSON.stringify(ids.slice(first, first + readTogether));
      const found = await read<{ before: unknown; behind: unknown }>(selectWindows, { ids: some, limit });
      for (const { before, behind } of found) {
        // PostgreSQL returns null if there are no rows
        windows.push({
          before: (readJson<readonly number[] | null>(before) ?? []).toReversed(),
          rows: readJson<readonly FoundRow[] | null>(behind) ?? [],
        });
      }
      await nextTurn();
    }
    return windows;
  };
}

/** Weights rows by their chance of being read: of being among the `windowRows` rows after a randomly drawn id. */
function weigh({ before, rows }: FoundWindow, ranks: Ranks, draws: number): readonly SampledRow[] {
  const ids = [...before, ...rows.map(({ id }) => id)];
  return rows.map((row, index) => {
    const from = ids[before.length + index - windowRows];
    const chance = rankOf(ranks, row.id) - (from === undefined ? 0 : rankOf(ranks, from));
    return { ...row, weight: ranks.at(-1)!.rank / (draws * chance) };
  });
}

/** Points in order: an id, and the number of rows up to this id (`rank`). Between points, ranks are interpolated. */
type Ranks = readonly { readonly id: number; readonly rank: number }[];

/** @param runs runs of consecutive ids */
function estimateRanks(
  runs: readonly (readonly number[])[],
  { subscriptions, firstId, lastId }: Extent,
): Ranks {
  /**
   * Points in ascending order. `rows` counts the rows after the previous point, up to and including this one. If the
   * rows were not read, their number is estimated from the rows at both ends.
   */
  const points: { id: number; rows: number; isRead: boolean }[] = [
    { id: firstId - 1, rows: 0, isRead: true },
  ];
  let densityBefore = 0;
  const addUnread = (id: number, density: number): void => {
    const length = id - points.at(-1)!.id;
    if (length > 0) points.push({ id, rows: Math.min(length, Math.max(1, length * density)), isRead: false });
  };
  for (const run of runs.toSorted(([one = 0], [other = 0]) => one - other)) {
    const last = points.at(-1)!.id;
    const ids = run.filter((id) => id > last);
    if (ids.length === 0) continue;
    const isJoined = ids.length < run.length || ids[0] === firstId;
    if (!isJoined) addUnread(ids[0]!, Math.max(densityBefore, densityOf(run.slice(0, windowRows))));
    for (const id of isJoined ? ids : ids.slice(1)) points.push({ id, rows: 1, isRead: true });
    densityBefore = densityOf(run.slice(-windowRows));
  }
  addUnread(lastId, densityBefore);
  // remaining rows may be in any range that was not read
  const missing = subscriptions - points.reduce((sum, { rows }) => sum + rows, 0);
  const lengths = points.map(({ id, isRead }, index) => (isRead ? 0 : id - points[index - 1]!.id));
  const unread = lengths.reduce((sum, length) => sum + length, 0);
  let rank = 0;
  return points.map(({ id, rows }, index) => {
    rank += rows + (missing > 0 && unread > 0 ? (missing * lengths[index]!) / unread : 0);
    return { id, rank };
  });
}

/** Returns the number of rows per id. */
const densityOf = (ids: readonly number[]): number =>
  ids.length < 2 ? 0 : (ids.length - 1) / (ids.at(-1)! - ids[0]!);

/** Returns the id up to which a given share of all rows lies, but never the last id. @param part the share, 0 to 1 */
function idAt(ranks: Ranks, part: number): number {
  const rank = part * ranks.at(-1)!.rank;
  const [one, other] = around(ranks, (point) => point.rank > rank);
  const id = one.id + ((rank - one.rank) / (other.rank - one.rank)) * (other.id - one.id);
  return Math.min(Math.floor(id), other.id - 1);
}

function rankOf(ranks: Ranks, id: number): number {
  const [one, other] = around(ranks, (point) => point.id > id);
  return one.rank + ((id - one.id) / (other.id - one.id)) * (other.rank - one.rank);
}

/** Finds two successive points at which `isBehind` turns true. Without such points, returns the first or last two. */
function around(
  ranks: Ranks,
  isBehind: (point: Ranks[number]) => boolean,
): readonly [Ranks[number], Ranks[number]] {
  let [low, high] = [0, ranks.length - 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isBehind(ranks[middle]!)) high = middle;
    else low = middle;
  }
  return [ranks[low]!, ranks[high]!];
}
