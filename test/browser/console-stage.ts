// A store that has been in use for a month, for pages of the console: subscriptions that come and go, broadcasts in every state,
// refusals, alarms, held deletions, a schedule and changes in the audit. Nothing of it depends on chance.
import type { RowResult } from '../../src/store/ledger.ts';
import type { Recipient } from '../../src/store/broadcasts.ts';
import type { Store } from '../../src/store/store.ts';
import { firstTimeAfter } from '../../src/delivery/schedule/recurrence.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { openTestStore } from '../store/test-database.ts';
import { commitPage, madeUpSchedule, recordAnswer } from '../store/store-under-test.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const leaseMs = 60_000;

const hosts = [
  'fcm.googleapis.com',
  'updates.push.services.mozilla.com',
  'web.push.apple.com',
  'wns2-par02p.notify.windows.com',
] as const;

/** Of a hundred rows, how many each has. */
const shares = [62, 22, 11, 5];

const hostOfRow = (index: number): string => {
  let rest = index % 100;
  return hosts[shares.findIndex((share) => (rest -= share) < 0)]!;
};

/** What strangers may name themselves, and operators may write. */
export const words = {
  user: 'nadia.featherstonehaugh-cholmondeley@example.org',
  tag: 'weekly-digest-of-everything-new',
  persian: 'می\u200Cخواهم چای ☕',
  long: 'A title that is as long as some titles are, and a little longer than any list has room for',
};

/** What is written in a store: a page must be fit for all of it. */
const oddWording = {
  user: words.user,
  tag: words.tag,
  oldest: [words.persian, 'چای آماده است'],
  older: [words.long, 'World'],
  channel: words.long.slice(0, 64),
  titles: { de: 'Nachrichten', fa: words.persian, 'pt-BR': 'Notícias da cidade e do mundo' },
  person: {
    data: { name: words.persian, points: 3, a_value_that_has_a_long_name: words.long },
    language: 'fa',
    timeZone: 'America/Argentina/ComodRivadavia',
    channels: { news: false },
  },
} as const;

export type Wording = {
  readonly [Name in keyof typeof oddWording]: (typeof oddWording)[Name] extends string
    ? string
    : (typeof oddWording)[Name] extends readonly [string, string]
      ? readonly [string, string]
      : Name extends 'person'
        ? Parameters<Store['readers']['setPerson']>[1]
        : Readonly<Record<string, string>>;
};

export async function openStage(rows = 400, wording: Wording = oddWording) {
  let nowMs = Date.now() - 30 * dayMs;
  const { store, remove } = await openTestStore(() => nowMs);
  const keys = generateVapidKeys();
  await store.vapidKeys.adopt(keys.publicKey);
  const sender = createSender({ vapid: { ...keys, subject: 'mailto:push@example.org' }, store, threads: 0 });

  for (let day = 30; day >= 0; day -= 1) {
    nowMs = Date.now() - day * dayMs;
    const first = Math.round(((30 - day) * rows) / 31);
    const count = Math.round(((31 - day) * rows) / 31) - first + (day % 7 < 2 ? 3 : 0);
    await store.subscriptions.putAll(
      Array.from({ length: count }, (_, index) => subscriptionOf(first + index, keys.publicKey, wording)),
    );
    if (day % 3 === 0 && day > 0 && day < 30) await store.subscriptions.removeById(first + 1);
  }

  const at = async (beforeMs: number, title: string, message: string): Promise<number> => {
    nowMs = Date.now() - beforeMs;
    return (await sender.createBroadcast('all', { title, message })).broadcast.id;
  };
  await deliver(store, await at(20 * dayMs, ...wording.oldest), accept);
  await deliver(store, await at(6 * dayMs, ...wording.older), mostly);
  const cancelled = await at(2 * dayMs, 'Sent by accident', '');
  await deliver(store, cancelled, mostly, rows / 2);
  await store.broadcasts.cancel(cancelled);
  const recent = await at(42 * minuteMs, 'Lunch menu', 'Lentil soup, bread and an apple');
  for (let part = 0; part < 12; part += 1) {
    await deliver(store, recent, mostly, rows / 11);
    nowMs += 3 * minuteMs;
  }
  const running = await at(3 * minuteMs, 'Tea is ready', 'Come while it is hot');
  for (let part = 0; part < 20; part += 1) {
    await deliver(store, running, mostly, rows / 32);
    nowMs += 8000;
  }
  nowMs = Date.now();
  const { broadcast: scheduled } = await sender.createBroadcast(
    'all',
    { title: 'New year', message: 'See you next year' },
    { startAt: new Date(nowMs + 33 * dayMs), ttlSeconds: 2_419_200 },
  );
  const paused = await at(0, 'Maintenance tonight', 'From 22:00 to 23:00');
  await store.broadcasts.pause(paused);

  await store.channels.put({ name: 'news', title: 'News', titles: wording.titles, isOnByDefault: true });
  await store.channels.put({
    name: wording.tag,
    title: wording.channel,
    titles: {},
    isOnByDefault: false,
  });
  await store.readers.setPerson(wording.user, wording.person);

  const bell = await store.bells.add({ name: 'alerts', audience: 'all', secretHash: new Uint8Array(32) });
  const request = { tool: 'unknown JSON', outcome: 'rung', shape: '{"alert":{"name":string}}' } as const;
  await store.bells.note(bell.id, { ...request, broadcastId: running });

  const { cron, timezone } = madeUpSchedule();
  await store.schedules.add(madeUpSchedule({ nextAtMs: firstTimeAfter(nowMs, cron, timezone) }));
  await store.audit.finish(
    await store.audit.begin({ operator: 'ada', action: 'broadcast.pause', target: `broadcast ${paused}` }),
    { status: 303, target: undefined },
  );
  await store.senders.put(senderReport(nowMs));
  return {
    store,
    sender,
    remove: async () => {
      await sender.close();
      await remove();
    },
    ids: { recent, running, scheduled: scheduled.id, paused },
    /** A push service calls everybody gone, another cannot be reached, sending is paused. */
    async addTrouble() {
      const gone = await store.subscriptions.page({ afterId: 0, limit: 60 });
      for (const subscription of gone.filter(({ endpoint }) => endpoint.includes(hosts[0])))
        await recordAnswer(store, subscription, 'gone', `https://${hosts[0]}`);
      await store.senders.put(senderReport(nowMs, 95_000));
      await store.sending.pause('restored');
      // an alarm that somebody knows of
      const known = { alarm: 'sending-paused', operator: 'ada', note: 'I know.', count: 2, broadcasts: 2 };
      await store.alarms.acknowledge(known);
      await deliver(store, running, refuse, rows / 20);
    },
  };
}

function subscriptionOf(index: number, vapidPublicKey: string, wording: Wording) {
  const subscription = madeUpSubscription(index);
  const user = index % 7 === 0 ? undefined : index === 1 ? wording.user : `user-${index % 40}`;
  const tags = ['news', ...(index % 2 === 0 ? ['tea'] : []), ...(index % 9 === 1 ? [wording.tag] : [])];
  const endpoint = subscription.endpoint.replace(hosts[0], hostOfRow(index));
  return {
    subscription: { ...subscription, endpoint },
    vapidPublicKey,
    assign: user === undefined ? { tags } : { user, tags },
  };
}

type ToResult = (recipient: Recipient) => Omit<RowResult, 'recipient' | 'origin'>;

/** Delivers some of a broadcast's rows. */
async function deliver(store: Store, broadcastId: number, toResult: ToResult, limit = 10_000): Promise<void> {
  for (let left = Math.ceil(limit); left > 0;) {
    const slice = await store.leases.leaseSlice({ leaseMs, broadcastId });
    if (slice === undefined) return;
    const rows = await store.ledger.readRows(slice, slice.cursor, left);
    left -= Math.max(1, rows.length);
    const isWhole = left > 0;
    const results = rows.map((recipient): RowResult => {
      const { origin } = new URL(recipient.endpoint);
      return { recipient, origin, ...toResult(recipient) };
    });
    await commitPage(store, slice, results, isWhole ? {} : { cursor: rows.at(-1)!.position });
    if (!isWhole) await store.leases.release(slice);
  }
}

const accept: ToResult = () => ({ attempts: 1, result: 'accepted' });

const mostly: ToResult = (recipient) => {
  if (recipient.position % 9 === 0 && recipient.endpoint.includes(hosts[2])) return refuse(recipient);
  return { attempts: 1, result: recipient.position % 97 === 0 ? 'expired' : 'accepted' };
};

const refuse: ToResult = () => ({
  attempts: 1,
  result: 'rejected',
  record: {
    atMs: Date.now(),
    attempt: 1,
    outcome: 'rejected',
    status: 403,
    reason: 'vapid-refused',
    detail: 'BadJwtToken',
  },
  alarm: { reason: 'vapid-refused', detail: 'BadJwtToken' },
});

const senderReport = (nowMs: number, unreachableMs?: number) =>
  ({
    id: 'one',
    machine: 'push-1.example.org',
    processId: 7,
    kind: 'worker',
    startedAtMs: nowMs - 3 * dayMs,
    pushServices: hosts.map((host, index) => ({
      origin: `https://${host}`,
      connections: 4 - index,
      inFlight: 310 >> index,
      queued: index === 1 ? 1200 : 0,
      maxInFlight: 400,
      latencyMs: 38 + 21 * index,
      answers: 120_000,
      throttled: index === 3 ? 12 : 0,
      ...(unreachableMs !== undefined && index === 2
        ? {
            breaker: 'open' as const,
            unreachableMs,
            breakerReason: 'web.push.apple.com:443 cannot be reached (ECONNREFUSED).',
          }
        : { breaker: 'closed' as const }),
    })),
  }) as const;
