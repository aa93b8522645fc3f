// Callbacks of the application that throw: a warning, and nothing else.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { guardCallback } from '../../src/errors/check-options.ts';

const warnings: string[] = [];
const collect = ({ message }: Error): void => void warnings.push(message);
process.on('warning', collect);
after(() => process.off('warning', collect));

test('what a callback throws is a warning, once; it is called on', async () => {
  warnings.length = 0;
  const told: number[] = [];
  const callback = guardCallback('onThing', (number: number) => {
    told.push(number);
    throw new Error(`no ${number}`);
  });
  for (const number of [1, 2, 3]) assert.equal(callback(number), undefined);
  await nextTurn();
  assert.deepEqual(told, [1, 2, 3]);
  assert.deepEqual(warnings, ['onThing threw an error, and its errors are ignored: Error: no 1']);
});

test('so is what it rejects with', async () => {
  warnings.length = 0;
  const callback = guardCallback('onThing', async () => Promise.reject(new Error('no')));
  assert.equal(callback(), undefined);
  await nextTurn();
  assert.deepEqual(warnings, ['onThing threw an error, and its errors are ignored: Error: no']);
});
