// Bells: addresses that notify one audience. Each has a secret (stored as a hash) and a record of its last requests.
import { hash, randomBytes } from 'node:crypto';
import { DeskbellError, fieldError } from '../errors/deskbell-error.ts';
import { bellSecretForm } from '../errors/untrusted-text.ts';
import type { Urgency } from '../protocol/request.ts';
import {
  changeRows,
  changesAny,
  nullsToUndefined,
  run,
  type PortableDatabase,
  type PortableValues,
  type Work,
} from './portable-sql.ts';
import type { ScheduleAudience } from './schedules.ts';

/** Settings that a bell applies to each message posted to it. */
export interface BellSettings {
  /** Sends only to readers who have this channel on. */
  readonly channel?: string | undefined;
  /** Default title of messages. */
  readonly title?: string | undefined;
  /** What a click opens if the message has no URL of its own. */
  readonly url?: string | undefined;
  /** Default urgency of messages. */
  readonly urgency?: Urgency | undefined;
  /** JSON Pointers (RFC 6901) into the body, for tools that Deskbell does not know. */
  readonly textFrom?: string | undefined;
  readonly titleFrom?: string | undefined;
  readonly urlFrom?: string | undefined;
}

export interface Bell extends BellSettings {
  /** Never reused. */
  readonly id: number;
  readonly name: string;
  readonly audience: ScheduleAudience;
  readonly createdAtMs: number;
  /** When the bell's last request arrived; `undefined` if there was no request. */
  readonly lastRequestAtMs: number | undefined;
}

/**
 * `folded`: combined with other requests into one notification. `cancelled`: the waiting notification is not sent.
 * `nothing`: the request had nothing to show.
 */
export const bellOutcomes = ['rung', 'folded', 'repeated', 'cancelled', 'nothing', 'refused'] as const;
export type BellOutcome = (typeof bellOutcomes)[number];

/** A request that a tool sent to a bell, and its result. */
export interface NewBellRequest {
  /** For example `Alertmanager`. */
  readonly tool: string;
  readonly outcome: BellOutcome;
  readonly broadcastId?: number | undefined;
  /** Describes which parts of the request are not in the notification. */
  readonly leftOut?: string | undefined;
  /** For JSON that was not understood: the names and types of its members, without values. */
  readonly shape?: string | undefined;
}

export interface BellRequest extends NewBellRequest {
  readonly atMs: number;
}

/** Maximum number of broadcasts that a bell creates per minute. */
export const defaultBellsPerMinute = 30;

/** Number of requests that are kept per bell. */
export const keptRequests = 10;

/** Requests over the limit: how many there are, and since when. */
export interface Fold {
  readonly count: number;
  readonly sinceMs: number;
}

/**
 * How to handle a request to a bell. `rings`: the request is within the limit, so notify at once. A number: the request
 * was combined with others in the waiting broadcast with this id. Otherwise: create a broadcast that combines requests,
 * and pass its id to `foldInto`.
 */
export type Admission = 'rings' | number | (Fold & { readonly startAtMs: number });

type EncodeFold = (fold: Fold) => Uint8Array;

export interface NewBell extends Omit<Bell, 'id' | 'createdAtMs' | 'lastRequestAtMs'> {
  readonly secretHash: Uint8Array;
}

export type BellStore = ReturnType<typeof createBells>;

interface BellRow extends Pick<Bell, 'id' | 'name' | 'createdAtMs'> {
  /** JSON, like `settings`. */
  readonly audience: string;
  readonly settings: string;
  readonly lastRequestAtMs: number | null;
}

const minuteMs = 60_000;
/**
 * A broadcast that combines a minute's requests starts this long after the minute. Until then, its payload is not read.
 */
const foldMarginMs = 5000;

const secretCharacters = 14;

export const bellSecretPattern = new RegExp(`^${bellSecretForm}$`);

/** 84 random bits. */
export const createBellSecret = (): string =>
  `A${randomBytes(12).toString('base64url').slice(0, secretCharacters)}`;

/** 32 bytes. The secret is random, so it cannot be guessed from its hash. */
export const hashBellSecret = (secret: string): Uint8Array => hash('sha256', secret, 'buffer');

export function createBells(database: PortableDatabase) {
  const find = async (condition: string, values: PortableValues): Promise<readonly Bell[]> => {
    const rows = await database.read<BellRow>(
      `select id, name, audience, settings, created_at_ms as "createdAtMs",
         (select max(at_ms) from deskbell.bell_requests where bell_id = b.id) as "lastRequestAtMs"
       from deskbell.bells b where ${condition}`,
      values,
    );
    return rows.map(toBell);
  };

  return {
    /** @throws {DeskbellError} ERR_BELL_EXISTS if the name is taken */
    add: async ({ name, audience, secretHash, ...settings }: NewBell): Promise<Bell> => {
      // if the secret is stored already, the call was repeated because its response was lost
      const [row] = await database.writeOnce<{ readonly id: number }>(
        `insert into deskbell.bells as b (name, secret_hash, audience, user_name, settings, created_at_ms)
         values (:name, :secretHash, :audience, :user, :settings, :nowMs)
         on conflict (name) do update set name = b.name where b.secret_hash = excluded.secret_hash
         returning id`,
        {
          name,
          secretHash,
          audience: JSON.stringify(audience),
          user: audience === 'all' ? null : audience.user,
          settings: JSON.stringify(settings),
          nowMs: database.now(),
        },
      );
      const [bell] = row === undefined ? [] : await find('id = :id', { id: row.id });
      if (bell !== undefined) return bell;
      throw fieldError('ERR_BELL_EXISTS', '/name', `There is a bell ${name} already.`);
    },

    /** Lists bells, sorted by name. */
    list: async (): Promise<readonly Bell[]> =>
      (await find('true', {})).toSorted((one, other) => (one.name < other.name ? -1 : 1)),

    /** @throws {DeskbellError} ERR_BELL_NOT_FOUND */
    get: async (name: string): Promise<Bell> => {
      const [bell] = await find('name = :name', { name });
      if (bell !== undefined) return bell;
      throw notFound(name);
    },

    findBySecret: async (secretHash: Uint8Array): Promise<Bell | undefined> =>
      (await find('secret_hash = :secretHash', { secretHash }))[0],

    /** Replaces the bell's secret. The former secret becomes invalid. @throws {DeskbellError} ERR_BELL_NOT_FOUND */
    rotate: async (name: string, secretHash: Uint8Array): Promise<void> => {
      const sql = 'update deskbell.bells set secret_hash = :secretHash where name = :name';
      if (!(await changesAny(database, sql, { name, secretHash }))) throw notFound(name);
    },

    /** Removes a bell. The broadcasts that the bell created stay. @returns false if no bell has this name */
    remove: (name: string) => changesAny(database, 'delete from deskbell.bells where name = :name', { name }),

    /**
     * Counts a request. Requests over the limit per minute are combined in a single broadcast, which is sent after that
     * minute. Each of these requests replaces the payload of the broadcast.
     *
     * @param encode makes the payload
     */
    admit: (id: number, perMinute: number, encode: EncodeFold): Promise<Admission> =>
      database.transaction(() => admit(id, perMinute, encode, database.now())),

    /**
     * Sets the broadcast in which this minute's requests over the limit are combined, including those that have already
     * arrived.
     *
     * @param startAtMs as returned by `admit`
     */
    foldInto: (id: number, broadcastId: number, startAtMs: number, encode: EncodeFold): Promise<void> =>
      database.transaction(function* () {
        const [row] = yield* run<FoldRow>(
          `update deskbell.bells set folded_into = :broadcastId where id = :id and folded_minute = :minute
           returning *`,
          { id, broadcastId, minute: minuteOf(startAtMs - foldMarginMs) - 1 },
        );
        if (row !== undefined) yield* setPayload(broadcastId, encode(toFold(row)));
      }),

    /** Stores the result of a request. The last ten are kept. */
    note: (id: number, { tool, outcome, broadcastId, leftOut, shape }: NewBellRequest): Promise<void> =>
      database.transaction(function* () {
        yield* run(
          `insert into deskbell.bell_requests (bell_id, at_ms, tool, outcome, broadcast_id, left_out, shape)
           select id, cast(:nowMs as bigint), :tool, :outcome, cast(:broadcastId as bigint), :leftOut, :shape
           from deskbell.bells where id = :id`,
          { id, nowMs: database.now(), tool, outcome, broadcastId, leftOut, shape },
        );
        yield* run(
          `delete from deskbell.bell_requests where bell_id = :id and id <= (
             select id from deskbell.bell_requests where bell_id = :id order by id desc limit 1 offset ${keptRequests})`,
          { id },
        );
      }),

    /** Newest first. */
    requests: async (id: number): Promise<readonly BellRequest[]> => {
      const rows = await database.read<BellRequest>(
        `select at_ms as "atMs", tool, outcome, broadcast_id as "broadcastId", left_out as "leftOut", shape
         from deskbell.bell_requests where bell_id = :id order by id desc`,
        { id },
      );
      return rows.map(nullsToUndefined);
    },
  };
}

interface FoldRow {
  readonly rung: number;
  readonly folded_into: number | null;
  readonly folded_minute: number;
  readonly folded: number;
  readonly folded_since_ms: number;
}

const minuteOf = (atMs: number): number => Math.floor(atMs / minuteMs);
const toFold = (row: FoldRow): Fold => ({ count: row.folded, sinceMs: row.folded_since_ms });

/** Replaces the payload of a broadcast that combines requests. @returns 1, or 0 if the broadcast was cancelled */
const setPayload = (broadcastId: number, payload: Uint8Array): Work<number> =>
  changeRows(
    `update deskbell.broadcasts set payload = :payload where id = :broadcastId and state <> 'cancelled'`,
    { broadcastId, payload },
  );

function* admit(id: number, perMinute: number, encode: EncodeFold, nowMs: number): Work<Admission> {
  const minute = minuteOf(nowMs);
  const [counted] = yield* run<FoldRow>(
    `update deskbell.bells set rung = case when minute = :minute then rung + 1 else 1 end, minute = :minute
     where id = :id returning *`,
    { id, minute },
  );
  if (counted === undefined || counted.rung <= perMinute) return 'rings';
  // if the minute before had requests over the limit too, continue their count
  const [row] = yield* run<FoldRow>(
    `update deskbell.bells set folded_minute = :minute,
       folded = case when folded_minute >= :before then folded else 0 end + 1,
       folded_since_ms = case when folded_minute >= :before then folded_since_ms else :nowMs end,
       folded_into = case when folded_minute = :minute then folded_into end
     where id = :id returning *`,
    { id, minute, before: minute - 1, nowMs },
  );
  const fold = toFold(row!);
  const broadcastId = row!.folded_into;
  if (broadcastId !== null && (yield* setPayload(broadcastId, encode(fold))) > 0) return broadcastId;
  return { ...fold, startAtMs: (minute + 1) * minuteMs + foldMarginMs };
}

const toBell = ({ audience, settings, lastRequestAtMs, ...bell }: BellRow): Bell => ({
  ...bell,
  audience: JSON.parse(audience) as ScheduleAudience,
  ...(JSON.parse(settings) as BellSettings),
  lastRequestAtMs: lastRequestAtMs ?? undefined,
});

const notFound = (name: string): DeskbellError =>
  new DeskbellError('ERR_BELL_NOT_FOUND', `There is no bell ${name}.`);
