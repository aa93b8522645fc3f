// Broadcasts whose audience takes longer to be found than their creator waits.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { after, before, describe, mock, test } from 'node:test';
import timers from 'node:timers/promises';
import { readConfiguration } from '../../src/cli/configuration/read-configuration.ts';
import type { Context } from '../../src/cli/command.ts';
import type { DataDirectory } from '../../src/cli/data/data-directory.ts';
import { sendBroadcast } from '../../src/cli/send/send-broadcast.ts';
import { createBroadcast, runPreparations } from '../../src/delivery/broadcast/create-broadcast.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { openTestStore } from '../store/test-database.ts';
import {
  assertDone,
  message,
  openBroadcastBench,
  startWork,
  timesReceived,
  vapidKeys,
  type BroadcastBench,
  untilDone,
} from './broadcast-bench.ts';

const audience = { tags: { all: ['news'] } };

const { setTimeout: sleep } = timers;
const over = Promise.resolve();
const neverOver = new Promise<void>(() => {});
/** What the two seconds are here. */
let twoSeconds = over;
/** What was asked for in their place, in milliseconds. */
const waits = new Set<number>();

/** A stage with five subscriptions, and a sender whose ranges of ids wait until `open` is called. */
async function setStage(bench: BroadcastBench) {
  const pushService = await bench.startPushService({ rows: 5 });
  const { broadcasts, people } = bench.store;
  for (const id of [1, 2, 3]) await people.assign(id, { tags: ['news'] });
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const prepare: typeof broadcasts.prepare = async (...range) => {
    reached.resolve();
    await gate.promise;
    return broadcasts.prepare(...range);
  };
  const store = { ...bench.store, broadcasts: { ...broadcasts, prepare } };
  const sender = bench.createSender({ store });
  return { pushService, sender, store, broadcasts, reached: reached.promise, open: gate.resolve };
}

describe('a broadcast that is preparing', () => {
  before(() => {
    mock.method(timers, 'setTimeout', (ms: number, value?: unknown, options?: { readonly ref?: boolean }) => {
      if (options?.ref !== false) return sleep(ms, value, options);
      waits.add(ms);
      return twoSeconds;
    });
    syncBuiltinESMExports();
  });
  after(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
  });

  test('is returned after two seconds, and delivered once its audience is complete', async () => {
    await using bench = await openBroadcastBench();
    const { pushService, sender, open } = await setStage(bench);
    const run = await sender.broadcast(audience, message, { idempotencyKey: 'once' });
    assert.equal(run.broadcast.state, 'preparing');
    assert.deepEqual(timesReceived(pushService), { 0: 5 });
    const again = await sender.createBroadcast(audience, message, { idempotencyKey: 'once' });
    assert.deepEqual(
      [again.isNew, again.broadcast.id, again.broadcast.state],
      [false, run.broadcast.id, 'preparing'],
    );
    open();
    assertDone(await run.finished, { accepted: 3 });
    assert.deepEqual([...waits], [2000]);
    assert.deepEqual(timesReceived(pushService), { 0: 2, 1: 3 });
  });

  test('is returned with its audience where that is complete before the two seconds are over', async () => {
    await using bench = await openBroadcastBench();
    const { sender, broadcasts, reached, open } = await setStage(bench);
    twoSeconds = neverOver;
    try {
      let isReturned = false;
      const creating = sender.createBroadcast(audience, message).finally(() => (isReturned = true));
      await reached;
      for (let looks = 0; looks < 10; looks += 1) await broadcasts.list({ limit: 1 });
      assert.equal(isReturned, false, 'it waits');
      open();
      const { broadcast } = await creating;
      assert.deepEqual([broadcast.state, broadcast.recipients], ['running', 3]);
    } finally {
      open();
      twoSeconds = over;
    }
  });

  test('is waited for by send --detach, which shows how far it is', async () => {
    await using bench = await openBroadcastBench();
    const { store, open } = await setStage(bench);
    const shown: string[] = [];
    const printed: string[] = [];
    const output = {
      live: (text: string) => {
        shown.push(text);
        open();
      },
      result: async (_flags: object, _value: object, text: string) => void printed.push(text),
      diagnostic: () => {},
    };
    const context = { output, environment: {}, stop: new AbortController().signal };
    const flags = { subject: 'mailto:push@example.org', data: 'none', tag: ['news'], detach: true } as const;
    const configuration = await readConfiguration({ flags, environment: {} });
    const data = { store, vapidKeys } as unknown as DataDirectory;
    await sendBroadcast(flags, message, data, configuration, context as unknown as Context);
    open();
    assert.equal(shown[0], 'Broadcast 1 is preparing: 0 subscriptions found so far');
    assert.deepEqual(printed, ['Broadcast 1 to 3 subscriptions is running.']);
  });

  test('is paused where Ctrl-C comes before its first message', async () => {
    await using bench = await openBroadcastBench();
    const { pushService, store, broadcasts, open } = await setStage(bench);
    open();
    const output = {
      live: () => {},
      line: async () => {},
      result: async () => {},
      diagnostic: () => {},
      style: (_: string, text: string) => text,
    };
    const context = { output, environment: {}, stop: AbortSignal.abort() } as unknown as Context;
    const flags = { subject: 'mailto:push@example.org', data: 'none', all: true } as const;
    const configuration = await readConfiguration({ flags, environment: {} });
    const data = { store, vapidKeys } as unknown as DataDirectory;
    await assert.rejects(sendBroadcast(flags, message, data, configuration, context), {
      code: 'ERR_BROADCAST_UNFINISHED',
    });
    assert.equal((await broadcasts.get(1)).state, 'paused');
    // one to nobody is over by then
    await sendBroadcast({ ids: [] }, message, data, configuration, context);
    assert.equal((await broadcasts.get(2)).state, 'done');
    assert.deepEqual(timesReceived(pushService), { 0: 5 });
  });

  test('whose process has ended is prepared and delivered by any that delivers', async () => {
    await using bench = await openBroadcastBench();
    const { pushService } = await setStage(bench);
    const { broadcast } = await createBroadcast(bench.store, createEndpointPolicy(), audience, message, {});
    assert.equal(broadcast.state, 'preparing');
    const endWork = startWork(bench.createSender());
    await untilDone(bench.store, broadcast.id);
    await endWork();
    assert.deepEqual(timesReceived(pushService), { 0: 2, 1: 3 });
  });
});

test('a broadcast that cannot be prepared does not keep others waiting', async (t) => {
  const { store, run, remove } = await openTestStore();
  t.after(remove);
  const create = () => createBroadcast(store, createEndpointPolicy(), audience, message, {});
  const [broken, other] = [await create(), await create()].map(({ broadcast }) => broadcast.id);
  await run(`update preparations set expression = '{' where broadcast_id = ${broken}`);
  const stop = new AbortController();
  const faults: unknown[] = [];
  const preparing = runPreparations(store, stop.signal, (fault) => faults.push(fault));
  await untilDone(store, other!);
  stop.abort();
  await preparing;
  assert.match(faults.join(), /^SyntaxError/);
});
