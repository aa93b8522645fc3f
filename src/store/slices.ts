// How an audience is cut into slices, without looking at its rows.

/** A sixth of a second of one thread: the last slices end at about the same time, and a lease costs one commit. */
export const defaultSliceRows = 2000;
/** Slices of a broadcast at most. */
export const maxSlices = 10_000;

/** The positions of an audience, or of a part of it, and how many of them are rows. */
export interface Extent {
  readonly rows: number;
  readonly firstPosition: number;
  readonly lastPosition: number;
}

export interface Slice {
  readonly afterPosition: number;
  readonly throughPosition: number;
}

/** Ranges of equal width, of about `sliceRows` rows each. @param max how many there may be */
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
