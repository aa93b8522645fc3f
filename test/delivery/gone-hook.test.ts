// onGone: told at least once of each subscription that its push service has ended, whoever deleted the row.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startGoneReports } from '../../src/delivery/reports/gone-hook.ts';
import type { EndedSubscription } from '../../src/store/held-deletions.ts';
import { deliver } from './broadcast-bench.ts';
import { broadcastToAll, message, openStageWithRecorder, vapidKeys } from './fault-stage.ts';
import { pluck } from '../../tools/pluck.ts';

describe('onGone', () => {
  const alive = 100;
  for (const threads of [0, 1]) {
    test(`is told once of each row that a broadcast deletes, with ${threads} threads`, async (t) => {
      const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2');
      const gone = recorder.sinks(15);
      await stage.enroll([
        ...gone,
        ...recorder.service.createSinks(alive, { vapidPublicKey: vapidKeys.publicKey }),
      ]);
      const expected = (await stage.stored()).slice(0, 15);
      for (const { endpoint } of gone) recorder.faults.inject({ kind: 'status', status: 410, endpoint });
      const told: EndedSubscription[] = [];
      const onGone = (subscription: EndedSubscription): void => void told.push(subscription);
      const sender = stage.sender({ threads, onGone });
      assert.equal((await deliver(stage.store, sender)).counts.gone, 15);
      await sender.close();
      assert.deepEqual(pluck(told, 'id', 'endpoint'), pluck(expected, 'id', 'endpoint'));
      assert.ok(told.every(({ goneAtMs }) => goneAtMs > 0));
      assert.equal((await stage.stored()).length, alive);
      assert.deepEqual(await stage.store.ended.list(10), []);
    });
  }

  test('is told after a single message, and by itself', async (t) => {
    const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2', 2);
    recorder.faults.inject({ kind: 'status', status: 404 });
    const told = Promise.withResolvers<EndedSubscription>();
    const sender = stage.sender({ onGone: told.resolve });
    const [row, other] = await stage.stored();
    assert.equal((await sender.send(row!, message)).outcome.kind, 'gone');
    assert.equal((await told.promise).id, row!.id);
    await sender.close();
    const toldLast: number[] = [];
    const last = stage.sender({ onGone: ({ id }) => void toldLast.push(id) });
    const sending = last.send(other!, message);
    await last.close();
    assert.deepEqual(toldLast, [other!.id], 'and of what is answered while the sender closes');
    assert.equal((await sending).outcome.kind, 'gone');
  });

  test('is told of the others where it throws for more than a page of them', async (t) => {
    const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2');
    await stage.enroll([...recorder.service.createSinks(200, { vapidPublicKey: vapidKeys.publicKey })]);
    recorder.faults.inject({ kind: 'status', status: 404 });
    await broadcastToAll(stage);
    await stage.store.heldDeletions.confirm(recorder.origin);
    const ids = (await stage.store.ended.list(1000)).map(({ id }) => id);
    const failing = ids.slice(0, 150);
    const told: number[] = [];
    const onGone = ({ id }: EndedSubscription): void => {
      told.push(id);
      if (failing.includes(id)) throw new Error('this one is refused');
    };
    const warnings: string[] = [];
    await stage.sender({ onGone, onWarning: (warning) => warnings.push(warning) }).close();
    assert.match(warnings.join(), /onGone is called again.*this one is refused/);
    assert.deepEqual(told, ids, 'each is told once in a turn');
    const left = await stage.store.ended.list(1000);
    assert.deepEqual(pluck(left, 'id'), failing);
  });

  test('is told again by the same sender a second after it threw, with one warning until it works', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const left = new Set([1, 2]);
    const list = async (limit: number, afterId = 0) =>
      Array.from(left, (id) => ({ id }) as EndedSubscription)
        .filter(({ id }) => id > afterId)
        .slice(0, limit);
    const remove = async ([id]: readonly number[]) => void left.delete(id!);
    const ended = { list, remove, ofUser: async () => [] };
    const told: number[] = [];
    const warnings: string[] = [];
    const reports = startGoneReports(
      ended,
      ({ id }) => {
        told.push(id);
        if (id === 1 && told.length <= 3) throw new Error('the application is away');
      },
      (warning) => warnings.push(warning),
    );
    for (const expected of [
      [1, 2],
      [1, 2, 1],
      [1, 2, 1, 1],
      [1, 2, 1, 1],
    ]) {
      t.mock.timers.tick(1000);
      await new Promise(setImmediate);
      assert.deepEqual(told, expected);
    }
    assert.equal(warnings.length, 1);
    await reports.close();
    for (let id = 1; id <= 250; id += 1) left.add(id);
    await startGoneReports(ended, ({ id }) => void told.push(id), assert.fail).close();
    assert.deepEqual([told.length, left.size], [254, 0], 'all of them, however many, when it is closed');
  });

  test('is not told of a subscription that its client removes, nor of one that is only held', async (t) => {
    const { stage, recorder } = await openStageWithRecorder(t, 'HTTP/2');
    await stage.enroll([...recorder.service.createSinks(200, { vapidPublicKey: vapidKeys.publicKey })]);
    const [first] = await stage.stored();
    await stage.store.subscriptions.removeByEndpoint(first!.endpoint, first!.auth);
    recorder.faults.inject({ kind: 'status', status: 404 });
    assert.equal((await broadcastToAll(stage)).counts.gone, 199);
    assert.deepEqual(await stage.store.ended.list(1), []);
    assert.equal(await stage.store.heldDeletions.confirm(recorder.origin), 199);
    assert.equal((await stage.store.ended.list(1000)).length, 199);
  });
});
