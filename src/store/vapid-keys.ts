// Public VAPID keys, and which of them services offer. Private keys are in files (`keys/vapid-key-files.ts`).
//
//   next → current → previous → retired
//
// A key becomes `next` once every sender can find its private key, and `current` after that. So no browser subscribes
// with a key that a sender cannot sign with.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { nullsToUndefined, run, type PortableDatabase, type Work } from './portable-sql.ts';

/**
 * `next`: senders can sign with it, but no service offers it yet. `current`: services offer it. `previous`:
 * subscriptions made with it are still accepted and sent to. `retired`: its private key is removed.
 */
export type VapidKeyState = 'next' | 'current' | 'previous' | 'retired';

export interface StoredVapidKey {
  /** 87 characters of unpadded base64url. */
  readonly publicKey: string;
  /** `undefined` if subscriptions use the key but it was never ours. */
  readonly state: VapidKeyState | undefined;
}

export type VapidKeyStore = ReturnType<typeof createVapidKeys>;

export function createVapidKeys(database: PortableDatabase) {
  const selectCounts = `select v.public_key as "publicKey", sum(c.subscriptions) as subscriptions
    from deskbell.subscription_counts c join deskbell.vapid_keys v on v.id = c.vapid_key_id
    group by v.public_key`;
  /** Changes run one after another. Registrations continue meanwhile. */
  const change = <Result>(work: () => Work<Result>): Promise<Result> => database.transaction(work, 'keys');
  const current = async (): Promise<string | undefined> => {
    const [row] = await database.read<PublicKeyRow>(selectByState, { state: 'current' });
    return row?.publicKey;
  };

  return {
    /** Lists the keys in the order in which they were first stored. */
    list: async () => {
      const rows = await database.read<StoredVapidKey>(
        'select public_key as "publicKey", state from deskbell.vapid_keys order by id',
      );
      return rows.map(nullsToUndefined);
    },

    /** Returns the current key, with which browsers make new subscriptions. */
    current,

    /** Counts the subscriptions made with each key. Omits keys without subscriptions. */
    countSubscriptions: async (): Promise<ReadonlyMap<string, number>> => {
      const rows = await database.read<CountRow>(selectCounts);
      const used = rows.filter(({ subscriptions }) => subscriptions > 0);
      return new Map(used.map((row) => [row.publicKey, row.subscriptions]));
    },

    /** Makes the key `current` if there is no current key. @returns the current key */
    adopt: async (publicKey: string) =>
      (await current()) ??
      change(function* () {
        const adopted = (yield* inState('current')) ?? publicKey;
        yield* replace('current', adopted, 'previous');
        return adopted;
      }),

    /** Gives the key the state `next`, unless another key has this state. @returns the key that has the state `next` */
    prepare: (publicKey: string) =>
      change(function* () {
        const next = (yield* inState('next')) ?? publicKey;
        yield* replace('next', next, 'retired');
        return next;
      }),

    /** Gives the key the state `current`, and gives the key that had this state the state `previous`. */
    makeCurrent: (publicKey: string) => change(() => replace('current', publicKey, 'previous')),

    /**
     * Makes the key `retired`, unless subscriptions were made with it and `force` is false.
     *
     * @returns the number of these subscriptions
     * @throws {DeskbellError} ERR_KEY_IN_USE for the current key
     */
    retire: (publicKey: string, { force }: { readonly force: boolean }) =>
      change(function* () {
        if ((yield* inState('current')) === publicKey) {
          throw new DeskbellError('ERR_KEY_IN_USE', `The key ${publicKey} is the current one.`);
        }
        const counts = yield* run<CountRow>(selectCounts);
        const count = counts.find((row) => row.publicKey === publicKey)?.subscriptions ?? 0;
        if (count === 0 || force) yield* setState(publicKey, 'retired');
        return count;
      }),

    /** Makes the key `current` and retires all our other keys. */
    replaceAll: (publicKey: string) =>
      change(function* () {
        yield* run("update deskbell.vapid_keys set state = 'retired' where state is not null");
        yield* setState(publicKey, 'current');
      }),
  };
}

interface PublicKeyRow {
  readonly publicKey: string;
}

interface CountRow extends PublicKeyRow {
  readonly subscriptions: number;
}

const selectByState = 'select public_key as "publicKey" from deskbell.vapid_keys where state = :state';

function* inState(state: VapidKeyState): Work<string | undefined> {
  const [row] = yield* run<PublicKeyRow>(selectByState, { state });
  return row?.publicKey;
}

function* setState(publicKey: string, state: VapidKeyState): Work<void> {
  yield* run(
    `insert into deskbell.vapid_keys (public_key, state) values (:publicKey, :state)
     on conflict (public_key) do update set state = excluded.state`,
    { publicKey, state },
  );
}

/** Gives a key the state `next` or `current`, which only one key can have at a time. */
function* replace(state: 'next' | 'current', publicKey: string, formerState: VapidKeyState): Work<void> {
  const former = yield* inState(state);
  if (former === publicKey) return;
  if (former !== undefined) yield* setState(former, formerState);
  yield* setState(publicKey, state);
}
