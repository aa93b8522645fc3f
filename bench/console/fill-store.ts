// Fills a store with subscriptions of people and with broadcasts in every state, through the store itself: each broadcast has a few
// outcomes, every tenth an alarm.
import type { NewBroadcast, Recipient } from '../../src/store/broadcasts.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import type { Store } from '../../src/store/store.ts';
import { newSubscription } from '../audiences/seed-people.ts';

/** What there is of each kind; it is added up to it. */
export interface Size {
  readonly subscriptions: number;
  readonly open: number;
  readonly past: number;
}

const rowsAtOnce = 5000;
const vapidPublicKey = `B${'A'.repeat(86)}`;
const leaseMs = 60_000;
const hourMs = 60 * 60 * 1000;
const origins = ['https://fcm.googleapis.com', 'https://updates.push.services.mozilla.com'] as const;
/** Recipients of a past broadcast, and of the page of an open one that was sent. */
const sentRows = 20;
/** A hundred are there whatever the size is. */
const schedules = 100;

export async function fillStore(store: Store, from: Size, to: Size): Promise<void> {
  for (let first = from.subscriptions; first < to.subscriptions; first += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, to.subscriptions - first);
    await store.subscriptions.putAll(Array.from({ length: count }, (_, index) => toRow(first + index)));
  }
  if (from.open === 0) {
    await store.vapidKeys.adopt(vapidPublicKey);
    for (let count = 0; count < schedules; count += 1) await addSchedule(store);
  }
  for (let index = from.past; index < to.past; index += 1) await addPast(store, index);
  for (let index = from.open; index < to.open; index += 1) await addOpen(store, index);
}

/** A page of them is there whatever the size is. */
const rareRows = 60;

/** Every tenth at the second push service, the first ones and every thousandth with a tag that is rare. */
function toRow(index: number) {
  const subscription = newSubscription(index);
  const endpoint =
    index % 10 === 9 ? subscription.endpoint.replace(origins[0], origins[1]) : subscription.endpoint;
  const tags = index < rareRows || index % 1000 === 7 ? ['news', 'rare'] : ['news'];
  return {
    subscription: { ...subscription, endpoint },
    vapidPublicKey,
    assign: { user: `user-${index}`, tags },
  };
}

async function addSchedule({ schedules: store }: Store): Promise<void> {
  await store.add({
    cron: '0 9 * * 1',
    timezone: 'Europe/Berlin',
    audience: 'all',
    message: { title: 'Monday', message: 'A new week' },
    receipts: false,
    nextAtMs: Date.now() + 24 * hourMs,
  });
}

const draft = (index: number, startAtMs: number): NewBroadcast => ({
  contentHash: new Uint8Array(32),
  payload: new TextEncoder().encode(JSON.stringify({ title: `Offer ${index}`, message: 'Only today' })),
  ttlSeconds: 3600,
  urgency: 'normal',
  startAtMs,
  expiresAtMs: startAtMs + 2 * hourMs,
  sliceRows: 50_000,
});

/** To a list, done or cancelled. */
async function addPast(store: Store, index: number): Promise<void> {
  const audienceId = await store.broadcasts.openAudience();
  const ids = Array.from({ length: sentRows }, (_, number) => number + 1);
  await store.broadcasts.addIds(audienceId, ids, sentRows);
  const { broadcast } = await store.broadcasts.create({ ...draft(index, Date.now()), audienceId });
  if (index % 10 === 0) await store.broadcasts.cancel(broadcast.id);
  else await sendPage(store, broadcast.id, index);
  await audit(store, index % 10 === 0 ? 'broadcast.cancel' : 'broadcast.create', broadcast.id);
}

/** To all: running, or one in five each paused and scheduled. */
async function addOpen(store: Store, index: number): Promise<void> {
  const isScheduled = index % 5 === 1;
  const startAtMs = Date.now() + (isScheduled ? hourMs : 0);
  const { broadcast } = await store.broadcasts.create(draft(index, startAtMs));
  if (!isScheduled) await sendPage(store, broadcast.id, index);
  if (index % 5 === 2) await store.broadcasts.pause(broadcast.id);
  await audit(store, 'broadcast.create', broadcast.id);
}

async function sendPage({ leases, ledger }: Store, broadcastId: number, index: number): Promise<void> {
  const slice = await leases.leaseSlice({ leaseMs, broadcastId });
  if (slice === undefined) throw new Error(`Broadcast ${broadcastId} has no slice.`);
  const rows = await ledger.readRows(slice, slice.cursor, sentRows);
  const last = slice.members === undefined ? rows.at(-1)!.position : slice.throughPosition;
  const hasAlarm = index % 10 === 3;
  await ledger.commit({
    broadcastId,
    fenceToken: slice.fenceToken,
    slice: { number: slice.slice, fromCursor: slice.cursor, cursor: last },
    rows: rows.map((recipient, number) => toResult(recipient, number === 0, hasAlarm)),
    leaseMs,
  });
  await leases.release(slice);
}

/** @param isRejected the others are accepted */
function toResult(recipient: Recipient, isRejected: boolean, hasAlarm: boolean): RowResult {
  const { origin } = new URL(recipient.endpoint);
  const record = { atMs: Date.now(), attempt: 1 } as const;
  if (!isRejected) {
    const accepted = { ...record, status: 201 } as const;
    return { recipient, origin, attempts: 1, result: 'accepted', record: accepted };
  }
  return {
    recipient,
    origin,
    attempts: 1,
    result: 'rejected',
    record: { ...record, status: 400, reason: 'bad-request', detail: 'too long' },
    ...(hasAlarm && { alarm: { reason: 'bad-request', detail: 'too long' } }),
  };
}

async function audit({ audit: records }: Store, action: string, broadcastId: number): Promise<void> {
  const id = await records.begin({ operator: 'shop', action, target: `broadcast ${broadcastId}` });
  await records.finish(id, { status: 200 });
}
