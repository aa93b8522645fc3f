import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { gatherTurn } from '../../src/delivery/single/gather.ts';

function open(): {
  readonly taken: (readonly number[])[];
  readonly gathering: ReturnType<typeof gatherTurn<number>>;
} {
  const taken: (readonly number[])[] = [];
  return { taken, gathering: gatherTurn<number>((items) => taken.push(items)) };
}

test('what is added in one turn is taken together, in order', async () => {
  const { taken, gathering } = open();
  gathering.add(1);
  await Promise.resolve();
  gathering.add(2);
  assert.deepEqual(taken, []);
  await nextTurn();
  assert.deepEqual(taken, [[1, 2]]);
  gathering.add(3);
  await nextTurn();
  assert.deepEqual(taken, [[1, 2], [3]]);
});

test('at most 64 are taken at once, and others have a turn in between', async () => {
  const { taken, gathering } = open();
  for (let item = 0; item < 130; item += 1) gathering.add(item);
  const sizes: number[][] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await nextTurn();
    sizes.push(taken.map((items) => items.length));
  }
  assert.deepEqual(sizes.at(-1), [64, 64, 2]);
  assert.ok(sizes[0]!.length < 3, 'not all in one turn');
  assert.deepEqual(
    taken.flat(),
    Array.from({ length: 130 }, (_, item) => item),
  );
});

test('flushing takes all of it at once, and nothing twice', async () => {
  const { taken, gathering } = open();
  for (let item = 0; item < 70; item += 1) gathering.add(item);
  gathering.flush();
  assert.deepEqual(
    taken.map((items) => items.length),
    [64, 6],
  );
  gathering.flush();
  await nextTurn();
  assert.equal(taken.length, 2);
});

test('an item added while others are taken is not lost', async () => {
  const taken: number[] = [];
  const gathering = gatherTurn<number>((items) => {
    taken.push(...items);
    if (items[0]! < 3) gathering.add(items[0]! + 1);
  });
  gathering.add(1);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  assert.deepEqual(taken, [1, 2, 3]);
});
