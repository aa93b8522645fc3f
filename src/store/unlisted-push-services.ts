// Which push services that nobody has listed have subscriptions here: if any public host is admitted, an installation takes
// only so many. One is counted before its first subscription is stored, and stays counted until it has none and its place is
// wanted.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { run, type PortableDatabase } from './portable-sql.ts';
import type { SubscriptionStore } from './subscriptions.ts';

/** A place without a subscription is given away after this: its registration has ended by then. */
const emptyAfterMs = 60_000;

export interface UnlistedPushServices {
  /** In the order of their origins. @param beforeMs added before that */
  list(beforeMs?: number): Promise<readonly string[]>;
  /** @returns `added`, `known` if it was counted before, `full` if there are `max` already */
  add(origin: string, max: number): Promise<'added' | 'known' | 'full'>;
  remove(origin: string): Promise<void>;
}

export function createUnlistedPushServices(database: PortableDatabase): UnlistedPushServices {
  return {
    list: async (beforeMs = Number.MAX_SAFE_INTEGER) => {
      const rows = await database.read<{ readonly origin: string }>(
        `select origin from deskbell.unlisted_push_services where added_at_ms < :beforeMs order by origin`,
        { beforeMs },
      );
      return rows.map(({ origin }) => origin);
    },
    add: async (origin, max) => {
      const find = 'select origin from deskbell.unlisted_push_services where origin = :origin';
      // usually it is known, and nothing needs to be written
      if ((await database.read(find, { origin })).length > 0) return 'known';
      return database.transaction(function* () {
        if ((yield* run(find, { origin })).length > 0) return 'known' as const;
        const [row] = yield* run<{ readonly count: number }>(
          'select count(*) as count from deskbell.unlisted_push_services',
        );
        if (Number(row?.count) >= max) return 'full' as const;
        yield* run(
          'insert into deskbell.unlisted_push_services (origin, added_at_ms) values (:origin, :nowMs)',
          { origin, nowMs: database.now() },
        );
        return 'added' as const;
      }, 'unlisted push services');
    },
    remove: async (origin) => {
      await database.write('delete from deskbell.unlisted_push_services where origin = :origin', { origin });
    },
  };
}

interface UnlistedStore {
  readonly now: () => number;
  readonly subscriptions: Pick<SubscriptionStore, 'pageOfPushService'>;
  readonly unlisted: UnlistedPushServices;
}

/**
 * Stores something of a push service that nobody has listed, if there is a place for it.
 *
 * @param max how many of them there may be; ones that several processes remove and add in the same moment may exceed it
 * @throws {DeskbellError} ERR_PUSH_SERVICE_LIMIT
 */
export async function withUnlisted<Result>(
  store: UnlistedStore,
  origin: string,
  max: number,
  work: () => Promise<Result>,
): Promise<Result> {
  let added = await store.unlisted.add(origin, max);
  if (added === 'full') {
    for (const other of await store.unlisted.list(store.now() - emptyAfterMs))
      await removeEmpty(store, other);
    added = await store.unlisted.add(origin, max);
  }
  if (added === 'full') {
    throw new DeskbellError(
      'ERR_PUSH_SERVICE_LIMIT',
      `${new URL(origin).host} would be one push service too many: subscriptions of ${max} that are not listed are stored already.`,
    );
  }
  try {
    return await work();
  } catch (error) {
    if (added === 'added') await removeEmpty(store, origin);
    throw error;
  }
}

async function removeEmpty({ subscriptions, unlisted }: UnlistedStore, origin: string): Promise<void> {
  const rows = await subscriptions.pageOfPushService(origin, { afterId: 0, limit: 1 });
  if (rows.length === 0) await unlisted.remove(origin);
}
