// Whoever waits in the queue of registrations does not wait through the retries of all calls before it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { WriteQueue } from '../../src/store/postgres/write-queue.ts';

const retryForMs = 20_000;
const away = new DeskbellError('ERR_STORE_UNAVAILABLE', 'The database is away.');

test('calls that have waited as long as a call is retried fail with it if the database is away, younger ones go on', async () => {
  let nowMs = 0;
  const begun: string[] = [];
  const queue = new WriteQueue<string, string>(
    async (rows) => {
      begun.push(...rows);
      return rows;
    },
    retryForMs,
    () => nowMs,
  );
  const late: Promise<string>[] = [];
  const early = [
    queue.run(async () => {
      nowMs = 1;
      late.push(
        queue.run(async () => 'late'),
        queue.add([], 'late row'),
      );
      nowMs = retryForMs;
      throw away;
    }),
    queue.run(async () => begun.push('early')),
    queue.add([], 'early row'),
  ];
  for (const { status } of await Promise.allSettled(early)) assert.equal(status, 'rejected');
  assert.deepEqual(await Promise.all(late), ['late', 'late row']);
  assert.deepEqual(begun, ['late row']);
});

test('a fault of one call does not concern others, however long they have waited', async () => {
  let nowMs = 0;
  const queue = new WriteQueue<string, string>(
    async (rows) => rows,
    retryForMs,
    () => nowMs,
  );
  const wrong = queue.run(async () => {
    nowMs += 2 * retryForMs;
    throw new DeskbellError('ERR_FIELD_VALUE', 'The row was not stored.');
  });
  const right = queue.add([], 'row');
  await assert.rejects(wrong, { code: 'ERR_FIELD_VALUE' });
  assert.equal(await right, 'row');
});
