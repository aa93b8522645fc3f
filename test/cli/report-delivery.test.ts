import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellOnce, withReport, type DeliveryReport } from '../../src/cli/serve/report-delivery.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { Store } from '../../src/store/store.ts';

const away = () => new DeskbellError('ERR_STORE_UNAVAILABLE', 'The database cannot be reached.');

test('a fault that several report at the same time is told once, and again where it lasts', () => {
  const told: unknown[] = [];
  let nowMs = 0;
  const tell = tellOnce(
    (error) => told.push(String(error)),
    () => nowMs,
  );
  tell(away());
  tell(away());
  nowMs += 9_999;
  tell(away());
  assert.equal(told.length, 1);
  nowMs += 1;
  tell(away());
  tell(new Error('another one'));
  assert.deepEqual(told, [String(away()), String(away()), 'Error: another one']);
});

test('work and what reports of it tell of one fault together', async () => {
  const told: unknown[] = [];
  const report: DeliveryReport = {
    event: () => {},
    reachability: () => {},
    error: (error) => void told.push(String(error)),
  };
  const { promise: isRead, resolve } = Promise.withResolvers<void>();
  const fail = async () => {
    resolve();
    throw away();
  };
  const store = { senders: { list: fail }, broadcasts: { listOpen: fail, summaries: fail, list: fail } };
  await withReport(store as unknown as Pick<Store, 'broadcasts' | 'senders'>, report, {
    delivers: true,
    work: async (onFault) => {
      onFault(away());
      await isRead;
      onFault(away());
    },
  });
  assert.deepEqual(told, [String(away())]);
});
