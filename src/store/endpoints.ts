// Searches stored endpoints: lists their hosts, and finds endpoints by their last characters.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PortableDatabase, PortableValues } from './portable-sql.ts';

export type Endpoints = ReturnType<typeof createEndpoints>;

interface EndRow {
  readonly through_id: number | null;
  readonly found: number | null;
}

const rowsAtOnce = 10_000;

export function createEndpoints({ read, endpoint: { place } }: PortableDatabase) {
  const selectPlaces = `
    with recursive places (place) as (
      select (select ${place} from deskbell.subscriptions order by ${place} limit 1)
      union all
      select (select ${place} from deskbell.subscriptions where ${place} > places.place order by ${place} limit 1)
      from places where places.place is not null)
    select place from places where place is not null`;
  const selectEnd = `
    select max(id) as through_id,
      min(case when substr(endpoint, length(endpoint) - :length + 1) = :end then id end) as found
    from (select id, endpoint from deskbell.subscriptions
          where id > :afterId order by id limit ${rowsAtOnce}) s`;

  return {
    /** Lists the hosts of all stored endpoints in order, with any port that is not the default. One look-up per host. */
    hosts: async (): Promise<readonly string[]> => {
      const rows = await read<{ readonly place: string }>(selectPlaces);
      return rows.map(({ place: text }) => text.replaceAll(/^https?:\/\/|\/$/g, ''));
    },
    /** Reads every subscription, a few thousand at a time. @returns ids in order, at most `limit` */
    endingIn: async (end: string, limit: number): Promise<readonly number[]> => {
      const ids: number[] = [];
      for (let afterId: number | null = 0; afterId !== null && ids.length < limit;) {
        const values: PortableValues = { end, length: end.length, afterId };
        const [row] = (await read<EndRow>(selectEnd, values)) as readonly [EndRow];
        if (row.found !== null) ids.push(row.found);
        afterId = row.found ?? row.through_id;
        await nextTurn();
      }
      return ids;
    },
  };
}
