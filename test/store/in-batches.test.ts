// Work in many transactions: others get the lock between two of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inBatches } from '../../src/store/sqlite/portable-database.ts';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { temporaryFolder } from '../cli/run-command.ts';

test('each step is a transaction of its own, and the lock is free for a while after it', async () => {
  const path = `${await temporaryFolder()}/deskbell.db`;
  const [own, other] = [await SqliteDatabase.open({ path }), await SqliteDatabase.open({ path })];
  const steps: { readonly beganMs: number; readonly endedMs: number }[] = [];
  let writesOfOther = 0;
  await inBatches(own, () => {
    const beganMs = performance.now();
    void other.write(() => (writesOfOther += 1));
    assert.equal(writesOfOther, steps.length, 'the other one wrote after each step');
    steps.push({ beganMs, endedMs: performance.now() });
    return steps.length < 4;
  });
  assert.equal(steps.length, 4);
  const pauses = steps.slice(1).map(({ beganMs }, index) => beganMs - steps[index]!.endedMs);
  for (const pauseMs of pauses) assert.ok(pauseMs >= 10, `${pauseMs} ms`);
  await other.write(() => {});
  await Promise.all([own.close(), other.close()]);
});
