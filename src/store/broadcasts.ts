// Broadcasts, each of which is one push message to an audience: created, found, listed, paused, resumed and cancelled. Workers
// get their work from `leases.ts` and store results with `ledger.ts`.
//
//   state of a broadcast   preparing → running ⇄ paused;  running → done;  preparing, running, paused → cancelled
//
// One whose last rows wait outside its end (`dormant`) is done for everybody; in the database it is running, with the time of its end.
//
// A broadcast to an expression is `preparing` until its audience is complete, and can be paused meanwhile.
import type { AudienceExpression } from '../audience/user-and-tags.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Urgency } from '../protocol/request.ts';
import type { Subscription } from '../protocol/subscription.ts';
import type { StoredOptions } from './delivery-options.ts';
import type { ReceiptCounts } from './receipts.ts';
import type { AudienceSplit, LeftOut } from './split-audience.ts';

/** `cancelled` and `done` are final. `preparing`: its audience is being found, and nothing is sent yet. */
export type BroadcastState = 'preparing' | 'running' | 'paused' | 'cancelled' | 'done';

/** Nothing more of the broadcast will be sent. */
export function isOver({ state }: { readonly state: BroadcastState }): boolean {
  return state === 'done' || state === 'cancelled';
}

/** The final outcomes of a row of an audience. */
export const settlements = [
  'accepted',
  'gone',
  'rejected',
  'expired',
  'exhausted',
  'capped',
  'doubtful',
  'dormant',
] as const;

/**
 * `accepted`: by the push service. `gone`: the subscription has ended, and is marked (`held-deletions.ts`).
 * `rejected`: never to be tried again. `expired`: past the TTL. `exhausted`: out of attempts.
 * `capped`: not sent, since the person has been reached as often as the broadcast allows (`audience/frequency-cap.ts`).
 * `doubtful`: in doubt. It was sent, repeated three times, and no answer came that can be read: it may have arrived.
 * `dormant`: the end of the broadcast does not wait for it, since nobody has listed its push service, which does not take it now
 * (`unlisted-push-services.ts`). It is counted as another one when it ends.
 */
export type Settlement = (typeof settlements)[number];

export const isSettlement = (result: string): result is Settlement =>
  (settlements as readonly string[]).includes(result);

/** Of the alarm that a broadcast raises which is done and whose counts do not add up to its audience. It is about no push service:
 *  its origin is empty. */
export const countsDifferReason = 'counts-differ';

/** The same alarm's words. */
export const countsDifferDetail = 'the counts do not add up to the audience';

/** The counts of a broadcast at one push service. */
export interface OriginCounts extends Readonly<Record<Settlement, number>> {
  readonly origin: string;
  /** POSTs, repeats included, and tries for which no connection could be made. */
  readonly attempts: number;
}

/** What an operator should know, stored once for each broadcast, origin and reason. */
export interface Alarm {
  readonly origin: string;
  /** As in `Outcome`. */
  readonly reason: string;
  /** The push service's own words. */
  readonly detail: string;
  readonly firstAtMs: number;
  /** How many rows it concerns. */
  readonly rows: number;
}

export interface BroadcastMessage extends Pick<StoredOptions, 'topic'> {
  readonly payload: Uint8Array;
  readonly ttlSeconds: number;
  readonly urgency: Urgency;
}

type OtherOptions = Omit<StoredOptions, keyof BroadcastMessage>;

export interface NewBroadcast extends BroadcastMessage, OtherOptions, NewBroadcastSource {
  /** A repeated creation with the same key returns the existing broadcast. */
  readonly idempotencyKey?: string | undefined;
  /** SHA-256 of the message and its audience, which must be equal for the same key. */
  readonly contentHash: Uint8Array;
  /** Nothing is sent before. */
  readonly startAtMs: number;
  /** Rows without an outcome are expired then. */
  readonly expiresAtMs: number;
  /** The names of the message's actions, if its rows ask for receipts. */
  readonly receiptActions?: readonly string[] | undefined;
  /** The only person that it is for. */
  readonly user?: string | undefined;
  /** About how many rows a slice has. */
  readonly sliceRows: number;
  /** What is sent instead of the payload to those who read a language. */
  readonly texts?: ReadonlyMap<string, Uint8Array> | undefined;
  /** The payload has placeholders, and so have the texts. */
  readonly hasPlaceholders?: boolean | undefined;
  /** How the audience is split while it is prepared. */
  readonly split?: AudienceSplit | undefined;
}

/** Its audience is found or split before anything is sent. */
export const isPrepared = ({ matching, split }: NewBroadcast): boolean =>
  matching !== undefined || split !== undefined;

/** One of the texts of a broadcast that has texts by language. */
export interface BroadcastText {
  readonly language: string;
  /** How many get it. */
  readonly recipients: number;
}

/** A time at which readers of some time zones will get a broadcast. */
export interface TimeToCome {
  readonly atMs: number;
  readonly recipients: number;
  /** One of the zones whose clocks agree; the broadcast's own for readers whose zone is not known. */
  readonly timeZones: readonly string[];
}

/** A stored broadcast: its message, its state, and what has come of its audience so far. */
export interface Broadcast
  extends BroadcastMessage, OtherOptions, Pick<NewBroadcast, 'idempotencyKey' | 'startAtMs' | 'expiresAtMs'> {
  readonly id: number;
  readonly state: BroadcastState;
  /** The broadcast is running, and by the store's clock it has not started yet. */
  readonly isScheduled?: true | undefined;
  readonly createdAtMs: number;
  readonly finishedAtMs?: number | undefined;
  /** `undefined`: not recorded. */
  readonly audience: AskedAudience | undefined;
  /** `undefined`: not recorded. */
  readonly createdBy: BroadcastCreator | undefined;
  /** What is sent instead of the message's own text, by language; `undefined` if there is none. */
  readonly texts?: readonly BroadcastText[] | undefined;
  /** Its texts have placeholders that stand for the data of each reader. */
  readonly hasPlaceholders?: boolean | undefined;
  /** Number of rows in the audience at creation; the counts below add up to this number. */
  readonly recipients: number;
  /** How many `skipInactive` left out; `undefined` without it. */
  readonly inactive?: number | undefined;
  readonly counts: Readonly<Record<Settlement, number>> & {
    /** Rows without an outcome yet. 0 once the broadcast is `done` or `cancelled`. */
    readonly pending: number;
    /** Removed from the store before their turn. */
    readonly removed: number;
    /** When `done`: the audience minus all other counts. Always 0, unless there is a fault. */
    readonly unaccounted: number;
    /** Not sent because the broadcast was cancelled. */
    readonly cancelled: number;
  };
  /** How many pending rows are stored one by one, to be sent later. */
  readonly waiting: number;
  /** Waiting rows that were tried before. The others are held back, or were put off without a try. */
  readonly toRetry: number;
  /** Pending rows that wait for their reader's local time or the end of quiet hours; `atMs` is the first such time. */
  readonly later?: { readonly rows: number; readonly atMs: number } | undefined;
  /** When the next of the waiting rows is tried, if that is to come and known; not of those that are held back. */
  readonly nextTryAtMs?: number | undefined;
  /** Waiting rows whose push service refuses our token or key. */
  readonly heldBack: readonly { readonly origin: string; readonly rows: number }[];
  readonly origins: readonly OriginCounts[];
  readonly alarms: readonly Alarm[];
  /** What browsers reported; `undefined` if the rows do not ask for it. */
  readonly receipts: readonly ReceiptCounts[] | undefined;
}

/** Broadcasts that are not over, counted by state. */
export type OpenBroadcasts = Readonly<Record<'preparing' | 'running' | 'scheduled' | 'paused', number>>;

/** What a search looks at. */
export type BroadcastSummary = Pick<
  Broadcast,
  'id' | 'state' | 'isScheduled' | 'startAtMs' | 'payload' | 'createdBy'
>;

export interface KeyedBroadcast {
  readonly broadcast: Broadcast;
  /** Hash of what the broadcast was created with. */
  readonly contentHash: Uint8Array;
}

/**
 * The stored broadcast, if its message and audience are the same.
 *
 * @throws {DeskbellError} ERR_IDEMPOTENCY_KEY
 */
export function repeatBroadcast(
  { broadcast, contentHash }: KeyedBroadcast,
  repeatedHash: Uint8Array,
): { readonly broadcast: Broadcast; readonly isNew: false } {
  if (Buffer.compare(contentHash, repeatedHash) === 0) return { broadcast, isNew: false };
  throw new DeskbellError(
    'ERR_IDEMPOTENCY_KEY',
    `The idempotency key belongs to broadcast ${broadcast.id}, which has another message or audience.`,
  );
}

/** A row of an audience, ready to be sent to. */
export interface Recipient extends Subscription {
  /** Ascending within the audience; cursors are positions. */
  readonly position: number;
  /** `undefined` for a row of a list that is no stored subscription. */
  readonly subscriptionId: number | undefined;
  /** The VAPID public key that it was made with; `undefined` if that is not known. */
  readonly vapidPublicKey: string | undefined;
  readonly updatedAtMs: number;
  /** The person has been reached as often as the broadcast allows: nothing is sent. */
  readonly isCapped?: boolean | undefined;
}

/** A page of a list, newest first: ids below `beforeId`. */
export interface NewestFirst {
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** All broadcasts, or those of one operator. */
export interface OfOperator {
  readonly operatorId?: number | undefined;
}

/** Creates, finds and controls broadcasts. */
export interface BroadcastStore {
  /** Creates a list of recipients, which is deleted if no broadcast uses it within a day. */
  openAudience(): Promise<number>;
  /** Adds subscriptions, stored or not. Those that are in the list are skipped. */
  addToAudience(audienceId: number, members: readonly Subscription[]): Promise<void>;
  /** Fills an empty list with ids of stored subscriptions. @param ids ascending, each once */
  addIds(audienceId: number, ids: readonly number[], sliceRows: number): Promise<void>;
  /**
   * Adds the next members to the audience of a broadcast that is preparing, in a short transaction.
   *
   * @param holder who does it, a UUID: others leave it alone for some seconds
   * @returns false if the holder has nothing more to do: the audience is complete, the broadcast was paused or cancelled, or
   *   somebody else prepares it
   */
  prepare(id: number, holder: string): Promise<boolean>;
  /** A broadcast that waits for somebody to prepare it. */
  findUnprepared(): Promise<number | undefined>;
  /**
   * Writes the broadcast and its slices in one transaction; no work per row. One to an expression is to be prepared.
   *
   * @returns the broadcast; `isNew: false` if one with the same key and content was there
   * @throws {DeskbellError} ERR_IDEMPOTENCY_KEY if the key belongs to another content
   */
  create(draft: NewBroadcast): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  /** What is sent instead of the payload to those who read a language. */
  texts(id: number): Promise<ReadonlyMap<string, Uint8Array>>;
  /** How many were left out when the audience was made, by reason; only those that are not 0. */
  leftOut(id: number): Promise<Readonly<Partial<Record<LeftOut, number>>>>;
  /** When readers of other time zones will get it, the next ones first. */
  timesToCome(id: number): Promise<readonly TimeToCome[]>;
  find(id: number): Promise<Broadcast | undefined>;
  /** Newest first. */
  findAll(ids: readonly number[]): Promise<readonly Broadcast[]>;
  /** @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND if there is none */
  get(id: number): Promise<Broadcast>;
  findByKey(idempotencyKey: string): Promise<KeyedBroadcast | undefined>;
  /** Newest first. */
  list(range: NewestFirst): Promise<readonly Broadcast[]>;
  /** Counts broadcasts that are not over. */
  countOpen(): Promise<OpenBroadcasts>;
  /** Lists broadcasts that run, are scheduled or paused, newest first. */
  listOpen(limit: number): Promise<readonly Broadcast[]>;
  /** The ids of a list of ids, ascending, as far as their subscriptions were not removed as a person's; `undefined` if there are
   *  more than `limit`, or none is kept. */
  listedIds(id: number, limit: number): Promise<readonly number[] | undefined>;
  /** All of them, newest first, without counts: for a search (`operator/searches.ts`). */
  summaries(range: NewestFirst & OfOperator): Promise<readonly BroadcastSummary[]>;
  /** Workers stop after the page they are in. Pausing what is paused, resuming what runs and cancelling what is
   *  cancelled change nothing.
   *  @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_BROADCAST_STATE */
  pause(id: number): Promise<Broadcast>;
  resume(id: number): Promise<Broadcast>;
  cancel(id: number): Promise<Broadcast>;
}

// The audience that was asked for, and who created the broadcast, stored as JSON.

/** What a list of recipients was made of. */
export type ListKind = 'ids' | 'subscriptions';

/**
 * The groups of an earlier broadcast that a later one can be sent to: with an outcome, left out for a reason, or accepted and then
 * reported by their browsers or not. `missed`: all recipients that ended without getting it, except those in doubt.
 */
export const outcomeGroups = [
  ...settlements,
  'cancelled',
  'inactive',
  'channelOff',
  'timePassed',
  'missed',
  'shown',
  'notShown',
  'clicked',
  'notClicked',
  'dismissed',
] as const;
/** An outcome, a reason for being left out, or what a browser reported: who of an earlier broadcast to send to. */
export type OutcomeGroup = (typeof outcomeGroups)[number];

/** The recipients of an earlier broadcast, or those left out, who have an outcome. */
export interface OutcomeAudience {
  /** Its id. */
  readonly broadcast: number;
  readonly outcome: OutcomeGroup;
}

/** An audience that is looked up while the broadcast is prepared. */
export type LookedUpAudience = AudienceExpression | OutcomeAudience;

/** The audience that was asked for: every subscription, those that are looked up, or a list. */
export type AskedAudience = 'all' | LookedUpAudience | { readonly list: ListKind };

/**
 * Who made a broadcast: an operator by name, with the API or the console; the command line on a machine; a schedule by its id;
 * a bell by name; or an application, by the name that it gives itself, else by its machine.
 */
export type BroadcastCreator =
  | { readonly operator: string }
  | { readonly commandLine: string }
  | { readonly schedule: number }
  | { readonly bell: string }
  | { readonly application: string };

/** What a new broadcast says of it. */
interface NewBroadcastSource {
  /** A list created by `openAudience`; without it, every subscription there is at creation. */
  readonly audienceId?: number | undefined;
  /** Whom the list, which is empty, is to be filled with: the broadcast is `preparing` until `prepare` has done so. As
   *  `checkExpression` gives it; an expression without parts is met by all. */
  readonly matching?: LookedUpAudience | undefined;
  /** What the list was made of, if it is not `matching`. */
  readonly list?: ListKind | undefined;
  readonly createdBy?: BroadcastCreator | undefined;
}

/** The columns; null if it is not known. */
interface SourceColumns {
  readonly asked_audience: string | null;
  readonly created_by: string | null;
}

export function toSourceColumns(draft: NewBroadcastSource): SourceColumns {
  const audience = askedAudience(draft);
  return {
    asked_audience: audience === undefined ? null : JSON.stringify(audience),
    created_by: draft.createdBy === undefined ? null : JSON.stringify(draft.createdBy),
  };
}

function askedAudience({ matching, audienceId, list }: NewBroadcastSource): AskedAudience | undefined {
  if (matching !== undefined) return Object.keys(matching).length === 0 ? 'all' : matching;
  if (audienceId === undefined) return 'all';
  return list === undefined ? undefined : { list };
}

export const readSourceColumns = ({ asked_audience, created_by }: SourceColumns) => ({
  audience: asked_audience === null ? undefined : (JSON.parse(asked_audience) as AskedAudience),
  createdBy: readCreator(created_by),
});

/** @param createdBy JSON; null if it is not known */
export const readCreator = (createdBy: string | null): BroadcastCreator | undefined =>
  createdBy === null ? undefined : (JSON.parse(createdBy) as BroadcastCreator);
