// Which push services that nobody has listed have subscriptions here: if any public host is admitted, an installation takes
// only so many. One gets its place before its first subscription is stored.
//
//   NEW      it has a place, and has accepted no message yet. Others wait for places → DORMANT, the longest known first. Messages to
//            it failed while listed push services accepted theirs → DORMANT. It accepts a message → PROVEN
//   PROVEN   it keeps its place until it has no subscription and the place is wanted
//   DORMANT  it has no place, and broadcasts send it nothing. Its subscriptions and messages stay. One of them registers again → NEW;
//            it accepts a single message → PROVEN. Either wakes its messages
import { DeskbellError } from '../errors/deskbell-error.ts';
import { changeRows, run, type PortableDatabase, type Work } from './portable-sql.ts';
import type { SubscriptionStore } from './subscriptions.ts';

/** A place without a subscription is given away after this: its registration has ended by then. */
const emptyAfterMs = 60_000;

export interface UnlistedPushServices {
  /** Lists the hosts with a place, in the order of their origins. @param beforeMs only those added before this time */
  list(beforeMs?: number): Promise<readonly string[]>;
  /** How many keep their places, since they have accepted a message. */
  countProven(): Promise<number>;
  /** Returns those of the origins that are stored, with a place or dormant. */
  among(origins: readonly string[]): Promise<readonly string[]>;
  /** Returns those of the origins that are dormant. */
  dormantAmong(origins: readonly string[]): Promise<readonly string[]>;
  /**
   * Gives it a place. @param mayReplace takes it from one that has accepted no message yet, if there is no other
   * @returns `added`, `known` if it has one, `full` if there are `max` already
   */
  add(origin: string, max: number, mayReplace?: boolean): Promise<'added' | 'known' | 'full'>;
  /** Takes the places away from the origins that have accepted no message. */
  setDormant(origins: readonly string[]): Promise<void>;
  remove(origin: string): Promise<void>;
  /** Makes messages to these subscriptions due, if they wait outside their broadcasts. */
  wake(ids: readonly number[]): Promise<void>;
}

/** How long workers take a host for dormant without asking again; it may register again at any time. */
export const dormantKnownForMs = 10_000;

/** Subscriptions whose messages are woken in one transaction. */
const wokenTogether = 1000;

const isProven =
  'exists (select 1 from deskbell.push_services p where p.origin = u.origin and p.accepted_at_ms > 0)';
/** A host that has accepted a single message since is not dormant. */
const isDormant = `(u.dormant_since_ms is not null and not ${isProven})`;

/** Parameters of `isOneOf`. */
const given = (names: readonly string[]) => ({ given: ` ${names.join(' ')} ` });

export function createUnlistedPushServices(database: PortableDatabase): UnlistedPushServices {
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
    list: (beforeMs = Number.MAX_SAFE_INTEGER) =>
      origins(`u.added_at_ms < :beforeMs and not ${isDormant}`, { beforeMs }),
    countProven: async () => (await origins(isProven)).length,
    among: (names) => origins(isOneOf, given(names)),
    dormantAmong: (names) => origins(`${isOneOf} and ${isDormant}`, given(names)),
    add: async (origin, max, mayReplace = false) => {
      // usually it is known, and nothing needs to be written
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
    setDormant: async (names) => {
      for (const origin of names) await database.write(makeDormant, { origin, nowMs: database.now() });
    },
    remove: async (origin) => {
      await database.write('delete from deskbell.unlisted_push_services where origin = :origin', { origin });
    },
    wake: async (ids) => {
      const open = await database.read<{ readonly id: number }>(
        `select b.id from deskbell.broadcasts b where b.state = 'running' and exists (
           select 1 from deskbell.waiting_rows w where w.broadcast_id = b.id and w.push_service_id = -2)`,
      );
      const dueAtMs = database.now() + dormantKnownForMs;
      for (const { id } of open) {
        // what a crash undoes is looked at a day later
        await database.background(function* () {
          // as whoever stores retries does
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

/** @returns false if so many places cannot be had */
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
 * Stores something of a push service that nobody has listed, if there is a place for it.
 *
 * @param max how many of them there may be; ones that several processes remove and add in the same moment may exceed it
 * @param mayReplace as `UnlistedPushServices.add` says
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
