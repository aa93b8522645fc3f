// Cuts an audience into slices without reading its rows.

/** A thread needs a sixth of a second per slice, so leases are few and the last slices end at about the same time. */
export const defaultSliceRows = 2000;
/** Maximum number of slices per broadcast. */
export const maxSlices = 10_000;

/** A range of positions in an audience, and the number of rows in it. */
export interface Extent {
  readonly rows: number;
  readonly firstPosition: number;
  readonly lastPosition: number;
}

export interface Slice {
  readonly afterPosition: number;
  readonly throughPosition: number;
}

/** The members of a slice. */
export interface MemberSet {
  /** The PostgreSQL partition that contains all members. If absent, the members may be in any partition. */
  readonly partition?: number | undefined;
  /** In ascending order. */
  readonly ids: readonly number[];
}

/**
 * Returns SQL for the ids in `a`, the set of a slice of broadcast `b`. Null means all rows of the slice, so the SQL
 * gives null only if the broadcast does not use sets. If the set is missing, the SQL gives no ids.
 */
export const membersOf = (noBytes: string): string =>
  `case when b.audience_id is not null and b.rows_in <> 'list' then coalesce(a.ids, ${noBytes}) end`;

/** Cuts ranges of equal width with about `sliceRows` rows each. @param max maximum number of ranges */
export function cutSlices(extent: Extent, sliceRows: number, max = maxSlices): readonly Slice[] {
  if (extent.rows === 0) return [];
  const { firstPosition, lastPosition } = extent;
  const count = Math.min(max, Math.ceil(extent.rows / sliceRows));
  const width = Math.ceil((lastPosition - firstPosition + 1) / count);
  const slices = [];
  for (let afterPosition = firstPosition - 1; afterPosition < lastPosition; afterPosition += width) {
    slices.push({ afterPosition, throughPosition: Math.min(afterPosition + width, lastPosition) });
  }
  return slices;
}

/** Cuts a set into sets of about `sliceRows` members each. Returns no sets if the set is empty. */
export function cutSet({ ids, ...set }: MemberSet, sliceRows: number): readonly MemberSet[] {
  if (ids.length === 0) return [];
  const count = Math.max(1, Math.round(ids.length / sliceRows));
  const end = (part: number): number => Math.round((part * ids.length) / count);
  return Array.from({ length: count }, (_, part) => ({ ...set, ids: ids.slice(end(part), end(part + 1)) }));
}

/** Joins the ids in ascending order. */
export const joinIds = (sets: readonly MemberSet[]): readonly number[] =>
  sets.flatMap(({ ids }) => ids).toSorted((one, other) => one - other);

export const countMembers = (sets: readonly MemberSet[]): number =>
  sets.reduce((members, { ids }) => members + ids.length, 0);

export function idsAfter({ ids }: { readonly ids: readonly number[] }, position: number): readonly number[] {
  const first = ids.findIndex((id) => id > position);
  return first < 0 ? [] : ids.slice(first);
}
