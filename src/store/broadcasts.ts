// A broadcast is one push message to an audience. Broadcasts are created, found, listed, paused, resumed and cancelled
// here. Workers get their work from `leases.ts` and store results with `ledger.ts`.
//
//   state of a broadcast   preparing → running ⇄ paused;  running → done;  preparing, running, paused → cancelled
//
// If the last rows of a broadcast wait outside (`dormant`), it is shown as done, but the database stores it as running,
// with the time of its end. A broadcast to an expression is `preparing` until its audience is complete, and can be
// paused meanwhile.
import type { AudienceExpression } from '../audience/user-and-tags.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Urgency } from '../protocol/request.ts';
import type { Subscription } from '../protocol/subscription.ts';
import type { StoredOptions } from './delivery-options.ts';
import type { ReceiptCounts } from './receipts.ts';
import type { AudienceSplit, LeftOut } from './split-audience.ts';

/**
 * The state of a broadcast. `cancelled` and `done` are final. In the `preparing` state, the broadcast's audience is
 * being looked up, and nothing is sent yet.
 */
export type BroadcastState = 'preparing' | 'running' | 'paused' | 'cancelled' | 'done';

/** True if no more of the broadcast will be sent. */
export function isOver({ state }: { readonly state: BroadcastState }): boolean {
  return state === 'done' || state === 'cancelled';
}

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
 * The final outcome of a row.
 *
 * - `accepted`: the push service accepted the message.
 * - `gone`: the subscription has ended and is marked (`held-deletions.ts`).
 * - `rejected`: the message must not be retried.
 * - `expired`: the TTL has passed.
 * - `exhausted`: no attempts are left.
 * - `capped`: the message was not sent, because the person was contacted as often as the broadcast allows
 *   (`audience/frequency-cap.ts`).
 * - `doubtful`: the message was sent and repeated three times without a readable response, so it may have arrived.
 * - `dormant`: the message waits for an unlisted push service, and the broadcast does not wait for the message
 *   (`unlisted-push-services.ts`). When the message gets a final outcome, it is counted under the final outcome, and no
 *   longer as `dormant`.
 */
export type Settlement = (typeof settlements)[number];

export const isSettlement = (result: string): result is Settlement =>
  (settlements as readonly string[]).includes(result);

/**
 * The alarm's reason if the counts of a finished broadcast do not add up to its audience. This alarm has an empty
 * origin, because it is not about a push service.
 */
export const countsDifferReason = 'counts-differ';

export const countsDifferDetail = 'the counts do not add up to the audience';

/** A broadcast's counts at one push service. */
export interface OriginCounts extends Readonly<Record<Settlement, number>> {
  readonly origin: string;
  /** Number of POST requests, including repeated ones, and of failed attempts to connect. */
  readonly attempts: number;
}

/** A condition that operators should know about, stored once per broadcast, origin and reason. */
export interface Alarm {
  readonly origin: string;
  /** See `Outcome`. */
  readonly reason: string;
  /** The push service's explanation. */
  readonly detail: string;
  readonly firstAtMs: number;
  /** Number of affected rows. */
  readonly rows: number;
}

export interface BroadcastMessage extends Pick<StoredOptions, 'topic'> {
  readonly payload: Uint8Array;
  readonly ttlSeconds: number;
  readonly urgency: Urgency;
}

type OtherOptions = Omit<StoredOptions, keyof BroadcastMessage>;

export interface NewBroadcast extends BroadcastMessage, OtherOptions, NewBroadcastSource {
  /** Creating a broadcast again with the same key returns the existing one. */
  readonly idempotencyKey?: string | undefined;
  /** SHA-256 of the message and its audience. Drafts with the same key must have the same hash. */
  readonly contentHash: Uint8Array;
  /** Nothing is sent before this time. */
  readonly startAtMs: number;
  /** Rows without an outcome expire at this time. */
  readonly expiresAtMs: number;
  /** The names of the message's actions, if receipts are requested. */
  readonly receiptActions?: readonly string[] | undefined;
  /** Set if the audience is a single person. */
  readonly user?: string | undefined;
  /** Approximate number of rows per slice. */
  readonly sliceRows: number;
  /** Payloads for readers of other languages, by language. */
  readonly texts?: ReadonlyMap<string, Uint8Array> | undefined;
  /** True if the payload and the texts have placeholders. */
  readonly hasPlaceholders?: boolean | undefined;
  /** How to split the audience during preparation. */
  readonly split?: AudienceSplit | undefined;
}

/** True if the audience must be looked up or split before anything is sent. */
export const isPrepared = ({ matching, split }: NewBroadcast): boolean =>
  matching !== undefined || split !== undefined;

/** The text of a broadcast in one language. */
export interface BroadcastText {
  readonly language: string;
  /** Number of readers who get this text. */
  readonly recipients: number;
}

/** A future time at which readers in some time zones will get a broadcast. */
export interface TimeToCome {
  readonly atMs: number;
  readonly recipients: number;
  /** Time zones with the same local time. The broadcast's own zone also includes readers whose zone is unknown. */
  readonly timeZones: readonly string[];
}

/** A stored broadcast: its message, its state, and the results so far. */
export interface Broadcast
  extends BroadcastMessage, OtherOptions, Pick<NewBroadcast, 'idempotencyKey' | 'startAtMs' | 'expiresAtMs'> {
  readonly id: number;
  readonly state: BroadcastState;
  /** Set if the broadcast is running but has not started yet by the store's clock. */
  readonly isScheduled?: true | undefined;
  readonly createdAtMs: number;
  readonly finishedAtMs?: number | undefined;
  /** `undefined` if the audience was not recorded. */
  readonly audience: AskedAudience | undefined;
  /** `undefined` if the creator was not recorded. */
  readonly createdBy: BroadcastCreator | undefined;
  /** The translations; `undefined` if there are none. */
  readonly texts?: readonly BroadcastText[] | undefined;
  /** True if the message has placeholders for each reader's data. */
  readonly hasPlaceholders?: boolean | undefined;
  /** Number of rows in the audience at creation. The counts below add up to this number. */
  readonly recipients: number;
  /** How many readers `skipInactive` left out; `undefined` if the option is not used. */
  readonly inactive?: number | undefined;
  readonly counts: Readonly<Record<Settlement, number>> & {
    /** Rows without an outcome. 0 once the broadcast is `done` or `cancelled`. */
    readonly pending: number;
    /** Rows that were removed from the store before their turn. */
    readonly removed: number;
    /** When `done`: the audience minus all other counts. This number is 0 unless there is a bug. */
    readonly unaccounted: number;
    /** Rows that were not sent because the broadcast was cancelled. */
    readonly cancelled: number;
  };
  /** Number of pending rows that are stored individually, to be sent later. */
  readonly waiting: number;
  /**
   * Number of waiting rows that were tried before. The other rows are held back, or were deferred without an attempt.
   */
  readonly toRetry: number;
  /** Pending rows that wait for their reader's local time or the end of quiet hours. `atMs` is the first such time. */
  readonly later?: { readonly rows: number; readonly atMs: number } | undefined;
  /** When the next waiting row will be tried, if that is known and in the future. Ignores rows that are held back. */
  readonly nextTryAtMs?: number | undefined;
  /** Waiting rows whose push service refuses our token or key. */
  readonly heldBack: readonly { readonly origin: string; readonly rows: number }[];
  readonly origins: readonly OriginCounts[];
  readonly alarms: readonly Alarm[];
  /** What browsers reported; `undefined` if receipts are not requested. */
  readonly receipts: readonly ReceiptCounts[] | undefined;
}

/** Numbers of broadcasts that are not over, by state. */
export type OpenBroadcasts = Readonly<Record<'preparing' | 'running' | 'scheduled' | 'paused', number>>;

/** What searches need to know about a broadcast. */
export type BroadcastSummary = Pick<
  Broadcast,
  'id' | 'state' | 'isScheduled' | 'startAtMs' | 'payload' | 'createdBy'
>;

export interface KeyedBroadcast {
  readonly broadcast: Broadcast;
  /** Hash of the message and the audience with which the broadcast was created. */
  readonly contentHash: Uint8Array;
}

/**
 * Returns the stored broadcast if its message and audience are the same as the draft's.
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

/** A row of an audience, with everything needed to send to it. */
export interface Recipient extends Subscription {
  /** The row's position in the audience. A cursor is also a position. */
  readonly position: number;
  /** The subscription's id in the store; `undefined` if the audience is a list and the subscription is not stored. */
  readonly subscriptionId: number | undefined;
  /** The VAPID public key that the subscription was made with; `undefined` if unknown. */
  readonly vapidPublicKey: string | undefined;
  readonly updatedAtMs: number;
  /** True if the person has been contacted as often as the broadcast allows, so that nothing is sent. */
  readonly isCapped?: boolean | undefined;
}

/** A page of a list, newest first: ids below `beforeId`. */
export interface NewestFirst {
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** Selects the broadcasts of one operator. If `operatorId` is absent, all broadcasts are selected. */
export interface OfOperator {
  readonly operatorId?: number | undefined;
}

/** Creates, finds and controls broadcasts. */
export interface BroadcastStore {
  /** Creates a list of recipients. The list is deleted if no broadcast uses it within a day. */
  openAudience(): Promise<number>;
  /**
   * Adds subscriptions to a list. The subscriptions need not be stored. Skips subscriptions that are already in the
   * list.
   */
  addToAudience(audienceId: number, members: readonly Subscription[]): Promise<void>;
  /** Fills an empty list with ids of stored subscriptions. @param ids ascending, without duplicates */
  addIds(audienceId: number, ids: readonly number[], sliceRows: number): Promise<void>;
  /**
   * Adds the next subscriptions to the audience of a `preparing` broadcast, in a short transaction.
   *
   * @param holder UUID of the caller. For a few seconds, no other holder can prepare the broadcast.
   * @returns false if there is nothing more to do: the audience is complete, the broadcast was paused or cancelled, or
   *   another process prepares it
   */
  prepare(id: number, holder: string): Promise<boolean>;
  /**
   * Finds a broadcast that must be prepared and that no process is preparing. If there are several, finds the one that
   * was tried least recently.
   */
  findUnprepared(): Promise<number | undefined>;
  /**
   * Stores the broadcast and its slices in one transaction, which takes no more time for a large audience than for a
   * small one. If the audience is an expression, the broadcast must be prepared afterwards.
   *
   * @returns the broadcast; `isNew: false` if a broadcast with the same key and content already existed
   * @throws {DeskbellError} ERR_IDEMPOTENCY_KEY if the key belongs to different content
   */
  create(draft: NewBroadcast): Promise<{ readonly broadcast: Broadcast; readonly isNew: boolean }>;
  /** Returns the payloads for other languages. */
  texts(id: number): Promise<ReadonlyMap<string, Uint8Array>>;
  /**
   * Returns how many readers were left out when the audience was selected, by reason. Omits reasons for which nobody
   * was left out.
   */
  leftOut(id: number): Promise<Readonly<Partial<Record<LeftOut, number>>>>;
  /** Returns the future times at which readers in other time zones get the broadcast, in chronological order. */
  timesToCome(id: number): Promise<readonly TimeToCome[]>;
  find(id: number): Promise<Broadcast | undefined>;
  /** Returns these broadcasts, newest first. */
  findAll(ids: readonly number[]): Promise<readonly Broadcast[]>;
  /** @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND if it does not exist */
  get(id: number): Promise<Broadcast>;
  findByKey(idempotencyKey: string): Promise<KeyedBroadcast | undefined>;
  /** Lists broadcasts, newest first. */
  list(range: NewestFirst): Promise<readonly Broadcast[]>;
  /** Counts broadcasts that are not over. */
  countOpen(): Promise<OpenBroadcasts>;
  /** Lists broadcasts that are running, scheduled or paused, newest first. */
  listOpen(limit: number): Promise<readonly Broadcast[]>;
  /**
   * Returns the ids in a broadcast's list of recipients, in ascending order. Omits subscriptions that were removed
   * together with their person. Returns `undefined` if there are more than `limit` ids, or if the ids are no longer
   * kept.
   */
  listedIds(id: number, limit: number): Promise<readonly number[] | undefined>;
  /** Returns broadcasts without counts, newest first, for searches (`operator/searches.ts`). */
  summaries(range: NewestFirst & OfOperator): Promise<readonly BroadcastSummary[]>;
  /**
   * Pauses a broadcast. Workers stop after their current page. Pausing, resuming or cancelling a broadcast that
   * already has this state changes nothing.
   *
   * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_BROADCAST_STATE
   */
  pause(id: number): Promise<Broadcast>;
  resume(id: number): Promise<Broadcast>;
  cancel(id: number): Promise<Broadcast>;
}

// The requested audience and the creator of a broadcast, stored as JSON.

/** The source of a list of recipients. */
export type ListKind = 'ids' | 'subscriptions';

/**
 * Groups of an earlier broadcast's readers to which a later broadcast can be sent. A group is an outcome, a reason for
 * leaving out readers, or a browser's report after acceptance. `missed` is the group of all recipients who never got
 * the message, except those whose message is in doubt.
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
/**
 * A name for some readers of a broadcast: those with this outcome, those who were left out for this reason, or those
 * whose browsers sent this report.
 */
export type OutcomeGroup = (typeof outcomeGroups)[number];

/** The readers of an earlier broadcast who belong to one group, such as those who clicked. */
export interface OutcomeAudience {
  /** Id of the earlier broadcast. */
  readonly broadcast: number;
  readonly outcome: OutcomeGroup;
}

/** An audience that is looked up while the broadcast is prepared. */
export type LookedUpAudience = AudienceExpression | OutcomeAudience;

/** The requested audience: all subscriptions, an expression by which Deskbell looks up subscriptions, or a list. */
export type AskedAudience = 'all' | LookedUpAudience | { readonly list: ListKind };

/**
 * The creator of a broadcast: an operator with the API or the console, the command line on a machine, a schedule, a
 * request to a bell, or an application. An application is identified by a name that it has chosen, or by the name of
 * the machine that it runs on.
 */
export type BroadcastCreator =
  | { readonly operator: string }
  | { readonly commandLine: string }
  | { readonly schedule: number }
  | { readonly bell: string }
  | { readonly application: string };

/** The source of a new broadcast's audience, and its creator. */
interface NewBroadcastSource {
  /** A list created by `openAudience`. Default: every subscription that exists at creation. */
  readonly audienceId?: number | undefined;
  /**
   * How to find the subscriptions for the list, which is empty at first. The broadcast is `preparing` until `prepare`
   * has filled the list. The value must come from `checkExpression`; an expression without parts selects everyone.
   */
  readonly matching?: LookedUpAudience | undefined;
  /** What the list was made from. Absent if `matching` is set. */
  readonly list?: ListKind | undefined;
  readonly createdBy?: BroadcastCreator | undefined;
}

/** Database columns, as JSON. Null means unknown. */
export interface SourceColumns {
  readonly asked_audience: string | null;
  readonly created_by: string | null;
}

export function toSourceColumns(draft: NewBroadcastSource) {
  const audience = askedAudience(draft);
  return {
    asked_audience: audience && JSON.stringify(audience),
    created_by: draft.createdBy && JSON.stringify(draft.createdBy),
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

/** @param createdBy JSON; null if unknown */
export const readCreator = (createdBy: string | null): BroadcastCreator | undefined =>
  createdBy === null ? undefined : (JSON.parse(createdBy) as BroadcastCreator);
