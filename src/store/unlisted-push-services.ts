// Unlisted push services that have subscriptions. If any public host is allowed, an installation has a limited number
// of places for them. Each push service gets its place before its first subscription is stored.
//
//   NEW      has a place, and has not accepted a message yet. It accepts one → PROVEN. Others need places (the oldest
//            goes first), or messages to it fail while listed push services accept theirs → DORMANT
//   PROVEN   keeps its place until it has no subscription and another push service needs the place
//   DORMANT  has no place, and broadcasts send nothing to it. Its subscriptions and messages stay. A subscription
//            registers again → NEW; it accepts a single message → PROVEN. Both wake its messages
import { DeskbellError } from '../errors/deskbell-error.ts';
import { changeRows, run, type PortableDatabase, type Work } from './portable-sql.ts';
import type { SubscriptionStore } from './subscriptions.ts';

/** A push service without subscriptions can be replaced after this time: its first registration has ended by then. */
const emptyAfterMs = 60_000;

export type UnlistedPushServices = ReturnType<typeof createUnlistedPushServices>;

/** How long workers treat a host as dormant without checking again. The host may register again at any time. */
export const dormantKnownForMs = 10_000;

/** Number of subscriptions whose waiting messages are made due in one transaction. */
const wokenTogether = 1000;

const isProven =
  'exists (select 1 from deskbell.push_services p where p.origin = u.origin and p.accepted_at_ms > 0)';
/** True for a dormant host. A host is no longer dormant once it has accepted a single message. */
const isDormant = `(u.dormant_since_ms is not null and not ${isProven})`;

/** Returns parameters for `isOneOf`. */
const given = (names: readonly string[]) => ({ given: ` ${names.join(' ')} ` });

export function createUnlistedPushServices(database: PortableDatabase) {
  const origins = async (condition: string, values = {}): Promise<readonly string[]> => {
    const rows = await database.read<{ readonly origin: string }>(
      `select u.origin from deskbell.unlisted_push_services u where ${condition} order by u.origin`,
      values,
    );
    return rows.map(({ origin }) => origin);
  };
  const isOneOf = `${database.position}(:given, ' ' || u.origin || ' ') > 0`;
  const hasPlace = `u.origin = :origin and not ${isDormant}`;

  return {
    /** Lists push services that are not dormant, by origin. @param beforeMs only those added before this time */
    list: (beforeMs = Number.MAX_SAFE_INTEGER) =>
      origins(`u.added_at_ms < :beforeMs and not ${isDormant}`, { beforeMs }),
    /** Number of unlisted push services that have accepted a message, so that they cannot become dormant. */
    countProven: async () => (await origins(isProven)).length,
    /** Returns those of the given origins that are stored as unlisted push services, dormant or not. */
    among: (names: readonly string[]) => origins(isOneOf, given(names)),
    /** Returns the given origins that are dormant. */
    dormantAmong: (names: readonly string[]) => origins(`${isOneOf} and ${isDormant}`, given(names)),
    /**
     * Gives an origin a place.
     *
     * @param mayReplace if no place is free, take one from an origin that has not accepted a message yet
     * @returns `added`; `known` if it has a place; `full` if there are already `max`
     */
    add: async (origin: string, max: number, mayReplace = false): Promise<'added' | 'known' | 'full'> => {
      // usually the origin is known, and nothing needs to be written
      if ((await origins(hasPlace, { origin })).length > 0) return 'known';
      return database.transaction(function* () {
        const nowMs = database.now();
        const find = `select u.origin from deskbell.unlisted_push_services u where`;
        if ((yield* run(`${find} ${hasPlace}`, { origin })).length > 0) return 'known' as const;
        const { length: taken } = yield* run(`${find} not ${isDormant}`);
        if (taken >= max && !(mayReplace && (yield* makeRoom(taken - max + 1, nowMs))))
          return 'full' as const;
        yield* run(
          `insert into deskbell.unlisted_push_services (origin, added_at_ms) values (:origin, :nowMs)
           on conflict (origin) do update set added_at_ms = excluded.added_at_ms, dormant_since_ms = null`,
          { origin, nowMs },
        );
        return 'added' as const;
      }, 'unlisted push services');
    },
    /**
     * Makes the given origins dormant, except those that have accepted a message. Dormant origins do not count towards
     * the maximum number of unlisted push services.
     */
    setDormant: async (names: readonly string[]) => {
      for (const origin of names) await database.write(makeDormant, { origin, nowMs: database.now() });
    },
    remove: (origin: string) =>
      database.write('delete from deskbell.unlisted_push_services where origin = :origin', { origin }),
    /** Makes messages to these subscriptions due if the messages wait outside their broadcasts (as `dormant`). */
    wake: async (ids: readonly number[]) => {
      const open = await database.read<{ readonly id: number }>(
        `select b.id from deskbell.broadcasts b where b.state = 'running' and exists (
           select 1 from deskbell.waiting_rows w where w.broadcast_id = b.id and w.push_service_id = -2)`,
      );
      const dueAtMs = database.now() + dormantKnownForMs;
      for (const { id } of open) {
        // if a crash undoes this, the messages become due a day later
        await database.background(function* () {
          // take the lock that is also taken to store retries
          yield* run(`select 1 from deskbell.broadcasts where id = :id ${database.forUpdate}`, { id });
          const woken = yield* changeRows(
            `update deskbell.retries set due_at_ms = :dueAtMs where broadcast_id = :id
               and ${database.isOneOf('position', 'ids')} and is_outside = true and token is null and due_at_ms > :dueAtMs`,
            { id, ids, dueAtMs },
          );
          if (woken === 0) return;
          yield* run(
            `update deskbell.work set retries_at_ms = :dueAtMs
             where broadcast_id = :id and (retries_at_ms is null or retries_at_ms > :dueAtMs)`,
            { id, dueAtMs },
          );
        });
      }
    },
  };
}

const makeDormant = `update deskbell.unlisted_push_services as u set dormant_since_ms = :nowMs
  where origin = :origin and not ${isProven}`;

/** @returns false if fewer push services than `places` can become dormant */
function* makeRoom(places: number, nowMs: number): Work<boolean> {
  const oldest = yield* run<{ readonly origin: string }>(
    `select u.origin from deskbell.unlisted_push_services u where u.dormant_since_ms is null and not ${isProven}
     order by u.added_at_ms, u.origin limit :places`,
    { places },
  );
  if (oldest.length < places) return false;
  for (const { origin } of oldest) yield* run(makeDormant, { origin, nowMs });
  return true;
}

interface UnlistedStore {
  readonly now: () => number;
  readonly subscriptions: Pick<SubscriptionStore, 'pageOfPushService'>;
  readonly unlisted: UnlistedPushServices;
}

/**
 * Runs `work`, which stores data of an unlisted push service, unless there are too many unlisted push services.
 *
 * @param max maximum number of unlisted push services; processes that remove and add some at once may exceed it
 * @param mayReplace see `UnlistedPushServices.add`
 * @throws {DeskbellError} ERR_PUSH_SERVICE_LIMIT
 */
export async function withUnlisted<Result>(
  store: UnlistedStore,
  origin: string,
  max: number,
  work: () => Promise<Result>,
  mayReplace = false,
): Promise<Result> {
  let added = await store.unlisted.add(origin, max);
  if (added === 'full') {
    for (const other of await store.unlisted.list(store.now() - emptyAfterMs))
      await removeEmpty(store, other);
    added = await store.unlisted.add(origin, max, mayReplace);
  }
  if (added === 'full') {
    throw new DeskbellError(
      'ERR_PUSH_SERVICE_LIMIT',
      `${new URL(origin).host} would be one push service too many: subscriptions of ${max} that are not listed are stored already.`,
    );
  }
  try {
    const result = await work();
    if (added === 'added') await wakeMessages(store, origin);
    return result;
  } catch (error) {
    if (added === 'added') await removeEmpty(store, origin);
    throw error;
  }
}

/** Wakes the messages of a push service that is no longer dormant. */
export async function wakeMessages(
  { subscriptions, unlisted }: Pick<UnlistedStore, 'subscriptions' | 'unlisted'>,
  origin: string,
): Promise<void> {
  for (let afterId = 0; ;) {
    const rows = await subscriptions.pageOfPushService(origin, { afterId, limit: wokenTogether });
    if (rows.length > 0) await unlisted.wake(rows.map(({ id }) => id));
    if (rows.length < wokenTogether) return;
    afterId = rows.at(-1)!.id;
  }
}

async function removeEmpty({ subscriptions, unlisted }: UnlistedStore, origin: string): Promise<void> {
  const rows = await subscriptions.pageOfPushService(origin, { afterId: 0, limit: 1 });
  if (rows.length === 0) await unlisted.remove(origin);
}
