// Receipts: what browsers report about notifications. A report is counted once for each message, subscription and
// event. The caller must have checked that it is genuine.

import { leftOutCodes } from './split-audience.ts';
import { changeRows, run, type PortableDatabase, type Work } from './portable-sql.ts';

export const receiptEvents = ['shown', 'clicked', 'dismissed'] as const;

/** `dismissed` means that the user or the system closed the notification without a click. */
export type ReceiptEvent = (typeof receiptEvents)[number];

export interface Receipt {
  readonly broadcastId: number;
  readonly subscriptionId: number;
  readonly event: ReceiptEvent;
  /** With `clicked`: the action's name. An action that the message does not have counts as a click without action. */
  readonly action?: string | undefined;
}

/**
 * How many of a broadcast's notifications were shown, clicked and dismissed at one push service, according to the
 * browsers.
 */
export interface ReceiptCounts extends Readonly<Record<ReceiptEvent, number>> {
  readonly origin: string;
  /** Clicks on each action, by name. All these clicks are also in `clicked`. */
  readonly actions: Readonly<Record<string, number>>;
}

/** Stands for a missing action name; real names are never empty. */
export const noAction = '';

/** A row of counts in the database. */
export interface ReceiptCount {
  readonly origin: string;
  readonly event: ReceiptEvent;
  readonly action: string;
  readonly count: number;
}

/** @param counted counts ordered by origin */
export function sumReceiptCounts(counted: readonly ReceiptCount[]): readonly ReceiptCounts[] {
  const byOrigin = Map.groupBy(counted, ({ origin }) => origin);
  return [...byOrigin].map(([origin, ofOrigin]) => {
    const counts = { origin, shown: 0, clicked: 0, dismissed: 0 };
    for (const { event, count } of ofOrigin) counts[event] += count;
    const onActions = ofOrigin.filter(({ action }) => action !== noAction);
    return { ...counts, actions: Object.fromEntries(onActions.map(({ action, count }) => [action, count])) };
  });
}

/**
 * Returns SQL that is true if subscription `s` is inactive: it clicked on none of the last broadcasts shown to it, nor
 * on a later one. A single index is enough, however many receipts the subscription has.
 *
 * @param lastShown how many broadcasts; if absent, nobody is inactive
 */
export const isInactive = (lastShown: number | undefined): string =>
  lastShown === undefined
    ? 'false'
    : `coalesce(
        (select r.broadcast_id from deskbell.receipts r where r.subscription_id = s.id and r.event = 'shown'
         order by r.broadcast_id desc limit 1 offset ${lastShown - 1})
        > coalesce((select max(r.broadcast_id) from deskbell.receipts r
                    where r.subscription_id = s.id and r.event = 'clicked'), 0), false)`;

/**
 * Returns SQL that gives the code for why subscription `s` of person `p` is left out, or 0 if it is not left out.
 *
 * @param hasChannelOn SQL that is true if the subscription has the channel on
 */
export const leftOutCode = (lastShown: number | undefined, hasChannelOn: string): string =>
  `case when not (${hasChannelOn}) then ${leftOutCodes.channelOff}
        when ${isInactive(lastShown)} then ${leftOutCodes.inactive} else 0 end`;

/** How long reports are counted after the start of a broadcast. Then the data about who reported what is deleted. */
export const receiptWindowMs = 30 * 24 * 60 * 60 * 1000;

/** Counts and forgets receipts. */
export interface ReceiptStore {
  /**
   * Counts receipts, each once. Ignores a receipt if its broadcast does not request receipts or began more than
   * `receiptWindowMs` ago, or if its subscription has left the store.
   *
   * @returns how many were counted
   */
  add(receipts: readonly Receipt[]): Promise<number>;
  /**
   * Deletes the receipts of broadcasts that accept no more: a few thousand rows in a short transaction. Counts stay.
   *
   * @returns whether there may be more to delete
   */
  prune(): Promise<boolean>;
}

/** Few enough rows that a transaction takes only milliseconds, so that other writers get their turn. */
const pruneBatchRows = 5000;

export const createReceiptPruning =
  (database: PortableDatabase): ReceiptStore['prune'] =>
  () =>
    database.transaction(() => pruneReceipts(database.now()));

/**
 * Returns SQL that is true unless another broadcast's audience is being made from this broadcast's recipients
 * (`preparations.ts`).
 *
 * @param id SQL for the broadcast's id
 */
export const isNotLookedUp = (id: string): string =>
  `not exists (select 1 from deskbell.preparations p where p.expression like '{"broadcast":' || ${id} || ',%')`;

/** Does the work of `ReceiptStore.prune` within a transaction. */
export function* pruneReceipts(nowMs: number): Work<boolean> {
  const [ended] = yield* run<{ readonly broadcast_id: number }>(
    `select broadcast_id from deskbell.receipt_windows w where ends_at_ms <= :nowMs and ${isNotLookedUp('w.broadcast_id')} limit 1`,
    { nowMs },
  );
  if (ended === undefined) return false;
  const broadcastId = ended.broadcast_id;
  const dropped = yield* changeRows(
    `delete from deskbell.receipts where (broadcast_id, subscription_id, event) in (
       select broadcast_id, subscription_id, event from deskbell.receipts
       where broadcast_id = :broadcastId limit ${pruneBatchRows})`,
    { broadcastId },
  );
  if (dropped < pruneBatchRows)
    yield* run('delete from deskbell.receipt_windows where broadcast_id = :broadcastId', { broadcastId });
  return true;
}
