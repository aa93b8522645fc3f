// Waiting in tests: what is awaited is named where it does not come.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until, within } from '../../tools/until.ts';

describe('waiting', () => {
  test('for a condition gives what it held with, or says what did not come, and how far it was', async () => {
    let asked = 0;
    assert.equal(await until(() => (asked += 1) >= 3 && 'third', 'the third question'), 'third');
    const late = until(
      async () => ((asked += 1), false),
      () => `the moon, asked ${asked > 3 ? 'often' : 'once'}`,
      50,
    );
    await assert.rejects(late, { message: 'Waited 0.05 s in vain for the moon, asked often' });
    await assert.rejects(
      until(() => assert.fail('it has ended'), 'nothing'),
      /it has ended/,
    );
  });

  test('for a promise gives its value or fault, or says what did not come', async () => {
    assert.equal(await within(Promise.resolve(1), 'one'), 1);
    await assert.rejects(within(Promise.reject(new Error('broken')), 'one'), /broken/);
    const { promise } = Promise.withResolvers();
    await assert.rejects(within(promise, 'the moon', 10), { message: 'Waited 0.01 s in vain for the moon' });
  });
});
