// When browsers last visited. Each page load with Deskbell's client stores its subscription again, which is a visit.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PortableDatabase } from './portable-sql.ts';

/** Number of subscriptions by age of the last visit. A subscription is counted in the first member that fits. */
export interface Visits {
  readonly within7Days: number;
  readonly within30Days: number;
  readonly within90Days: number;
  readonly longerAgo: number;
  /** Imported subscriptions whose browsers have not visited since the import. */
  readonly notSinceImport: number;
}

/** When the browsers with subscriptions at one push service last visited. */
export interface PushServiceVisits {
  /** Normalized origin. */
  readonly pushService: string;
  readonly visits: Visits;
}

export type VisitStore = ReturnType<typeof createVisits>;

interface VisitRow {
  /** Origin followed by a slash. */
  readonly prefix: string;
  readonly visit: keyof Visits;
  readonly rows: number;
  readonly through_id: number;
}

const none: Visits = { within7Days: 0, within30Days: 0, within90Days: 0, longerAgo: 0, notSinceImport: 0 };
const rowsAtOnce = 5000;
const dayMs = 24 * 60 * 60 * 1000;

export function createVisits({ now, read, position }: PortableDatabase) {
  const countRange = `
    select prefix, visit, count(*) as rows, max(id) as through_id
    from (select id, substr(endpoint, 1, ${position}(substr(endpoint, 9), '/') + 8) as prefix,
            case when updated_at_ms < created_at_ms then 'notSinceImport'
                 when updated_at_ms >= :within7Days then 'within7Days'
                 when updated_at_ms >= :within30Days then 'within30Days'
                 when updated_at_ms >= :within90Days then 'within90Days'
                 else 'longerAgo' end as visit
          from deskbell.subscriptions s where id > :afterId order by id limit ${rowsAtOnce}) s
    group by prefix, visit`;

  return {
    /** Reads all subscriptions, a few thousand at a time. @returns push services, most subscriptions first */
    count: async (): Promise<readonly PushServiceVisits[]> => {
      const counts = new Map<string, Record<keyof Visits, number>>();
      const nowMs = now();
      const since = {
        within7Days: nowMs - 7 * dayMs,
        within30Days: nowMs - 30 * dayMs,
        within90Days: nowMs - 90 * dayMs,
      };
      for (let afterId: number | undefined = 0; afterId !== undefined;) {
        const rows: readonly VisitRow[] = await read<VisitRow>(countRange, { ...since, afterId });
        for (const { prefix, visit, rows: found } of rows) {
          const ofPushService = counts.get(prefix) ?? { ...none };
          ofPushService[visit] += found;
          counts.set(prefix, ofPushService);
        }
        afterId = rows.length > 0 ? Math.max(...rows.map((row) => row.through_id)) : undefined;
        await nextTurn();
      }
      return Array.from(counts, ([prefix, visits]) => ({
        pushService: prefix.slice(0, -1),
        visits,
      })).toSorted((one, other) => sumOf(other.visits) - sumOf(one.visits));
    },
  };
}

export const sumOf = (visits: Visits): number =>
  Object.values<number>({ ...visits }).reduce((sum, count) => sum + count, 0);
