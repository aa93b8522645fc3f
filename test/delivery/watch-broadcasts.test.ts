// What is reported of broadcasts: each change of state once, the result of what ends last, and errors of the store once.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { stateOf } from '../../src/delivery/broadcast/format-broadcast.ts';
import { type BroadcastEvent, watchBroadcasts } from '../../src/delivery/broadcast/watch.ts';
import type { Store } from '../../src/store/store.ts';
import { addSubscriptions, madeUpBroadcast } from '../store/store-under-test.ts';
import { within } from '../../tools/until.ts';
import { openTestStore, type OpenedStore } from '../store/test-database.ts';

async function openStore(t: TestContext, now?: () => number): Promise<OpenedStore> {
  const opened = await openTestStore(now);
  t.after(() => opened.remove());
  await addSubscriptions(opened.store, 1);
  return opened;
}

async function createBroadcast(store: Store): Promise<number> {
  const expiresAtMs = Date.now() + 3_600_000;
  return (await store.broadcasts.create(madeUpBroadcast(0, { expiresAtMs }))).broadcast.id;
}

const fail = (error: unknown): void => assert.ifError(error);

const describeEvent = ({ kind, broadcast }: BroadcastEvent): string =>
  `${kind} ${broadcast.id} ${broadcast.state}`;

test('each change of state is reported, what was over before is not, and the last one comes after the abort', async (t) => {
  const { store } = await openStore(t);
  await store.broadcasts.cancel(await createBroadcast(store));
  const id = await createBroadcast(store);
  const stop = new AbortController();
  const events: string[] = [];
  for await (const event of watchBroadcasts(store.broadcasts, stop.signal, fail)) {
    events.push(describeEvent(event));
    if (event.broadcast.state === 'running') await store.broadcasts.pause(id);
    else if (event.broadcast.state === 'paused') {
      await store.broadcasts.cancel(id);
      stop.abort();
    }
  }
  assert.deepEqual(events, [`state ${id} running`, `state ${id} paused`, `state ${id} cancelled`]);
});

test('a broadcast that is scheduled is reported again when its time comes', async (t) => {
  let nowMs = Date.now();
  const { store } = await openStore(t, () => nowMs);
  const startAtMs = nowMs + 3_600_000;
  await store.broadcasts.create(madeUpBroadcast(startAtMs, { expiresAtMs: 2 * startAtMs }));
  const stop = new AbortController();
  const states: string[] = [];
  t.after(() => stop.abort());
  const watch = async (): Promise<void> => {
    for await (const { broadcast } of watchBroadcasts(store.broadcasts, stop.signal, fail, 1)) {
      states.push(stateOf(broadcast));
      if (states.length > 1) return;
      nowMs = startAtMs;
    }
  };
  await within(watch(), 'the start');
  assert.deepEqual(states, ['scheduled', 'running']);
});

test('each alarm is reported once: one for each push service and reason, however many rows it gets', async (t) => {
  const { store } = await openStore(t);
  await createBroadcast(store);
  const alarm = { origin: 'https://a.example', reason: 'bad-ttl', detail: '', rows: 1, firstAtMs: 0 };
  const looks = [
    [alarm],
    [
      { ...alarm, rows: 9 },
      { ...alarm, origin: 'https://b.example' },
      { ...alarm, reason: 'bad-topic' },
    ],
    [],
  ];
  const stop = new AbortController();
  const list: Store['broadcasts']['list'] = async (page) => {
    const alarms = looks.shift() ?? [];
    if (looks.length === 0) stop.abort();
    return (await store.broadcasts.list(page)).map((broadcast) => ({ ...broadcast, alarms }));
  };
  const raised: string[] = [];
  for await (const event of watchBroadcasts({ ...store.broadcasts, list }, stop.signal, fail, 1))
    if (event.kind === 'alarm') raised.push(`${event.alarm.origin} ${event.alarm.reason}`);
  assert.deepEqual(raised, [
    'https://a.example bad-ttl',
    'https://b.example bad-ttl',
    'https://a.example bad-topic',
  ]);
});

test('a broadcast that sixty newer ones follow is still reported when it ends', async (t) => {
  const { store } = await openStore(t);
  const id = await createBroadcast(store);
  const stop = new AbortController();
  const events: string[] = [];
  for await (const event of watchBroadcasts(store.broadcasts, stop.signal, fail)) {
    events.push(describeEvent(event));
    if (events.length > 1) continue;
    for (let count = 0; count < 60; count += 1) await store.broadcasts.cancel(await createBroadcast(store));
    await store.broadcasts.cancel(id);
    stop.abort();
  }
  assert.ok(events.includes(`state ${id} cancelled`), events.join('\n'));
  assert.equal(events.length, 1 + 1 + 50, 'and the newest fifty of the others');
});
