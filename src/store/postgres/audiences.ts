// Which rows a broadcast is for, and in which slices. Ids are given out before their rows are committed; so the highest id
// is taken at a moment when no registration is open. From then on nothing appears up to it, and what is counted is what is
// sent to, however long counting takes. What is deleted in the meantime counts as removed.
import type { NewBroadcast } from '../broadcasts.ts';
import { cutSlices, maxSlices, type Extent, type Slice } from '../slices.ts';
import { partitions } from './migrations.ts';
import type { PostgresDatabase } from './database.ts';

export interface SlicedAudience {
  readonly rows: number;
  /** As in the table of broadcasts. */
  readonly rowsIn: 'list' | 'partition' | 'all';
  readonly slices: readonly (Slice & { readonly number: number })[];
}

interface ExtentRow {
  readonly rows: number;
  readonly first: number | null;
  readonly last: number | null;
}

/** @param functions the schema of the database's functions */
export async function sliceAudience(
  database: PostgresDatabase,
  functions: string,
  { audienceId, sliceRows }: NewBroadcast,
): Promise<SlicedAudience> {
  if (audienceId !== undefined) {
    const list = await database.first<{ readonly members: number }>(
      'select members from deskbell.audiences where id = $1',
      [audienceId],
    );
    const rows = list?.members ?? 0;
    return { rows, rowsIn: 'list', slices: numbered(cutSlices(ofList(rows), sliceRows)) };
  }
  const bound = await database.first<{ readonly id: number }>(
    `select ${functions}.last_subscription_id() as id`,
  );
  const extents = (await database.query<ExtentRow>(selectExtents, [bound?.id ?? 0])).map(toExtent);
  const rows = extents.reduce((sum, extent) => sum + extent.rows, 0);
  if (rows < partitions * sliceRows) {
    // so few that a slice of one partition would be short: each reads from all of them
    return { rows, rowsIn: 'all', slices: numbered(cutSlices(join(extents), sliceRows)) };
  }
  const max = Math.floor(maxSlices / partitions);
  const slices = extents.flatMap((extent, partition) =>
    cutSlices(extent, sliceRows, max).map((slice, index) => ({
      ...slice,
      number: index * partitions + partition,
    })),
  );
  return { rows, rowsIn: 'partition', slices };
}

const selectExtents = Array.from(
  { length: partitions },
  (_, number) =>
    `select ${number} as number, count(*) as rows, min(id) as first, max(id) as last
     from deskbell.subscriptions_${number} where id <= $1::bigint`,
)
  .join(' union all ')
  .concat(' order by number');

const toExtent = ({ rows, first, last }: ExtentRow): Extent => ({
  rows,
  firstPosition: first ?? 1,
  lastPosition: last ?? 0,
});

const ofList = (rows: number): Extent => ({ rows, firstPosition: 1, lastPosition: rows });

function join(extents: readonly Extent[]): Extent {
  const filled = extents.filter(({ rows }) => rows > 0);
  return {
    rows: filled.reduce((sum, { rows }) => sum + rows, 0),
    firstPosition: Math.min(...filled.map(({ firstPosition }) => firstPosition)),
    lastPosition: Math.max(...filled.map(({ lastPosition }) => lastPosition)),
  };
}

const numbered = (slices: readonly Slice[]) => slices.map((slice, number) => ({ ...slice, number }));
