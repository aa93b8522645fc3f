// What workers measure for metrics, in this thread and in threads of their own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeliveryFigures, durationBoundsSeconds, Figures } from '../../src/delivery/reports/figures.ts';
import { assertDone, deliver, openBroadcastBench } from './broadcast-bench.ts';
import { pluck } from '../../tools/pluck.ts';

const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

test('durations are counted in buckets, each up to its bound, and once', () => {
  const figures = new Figures();
  const origin = 'https://db5p.notify.windows.com';
  for (const milliseconds of [0, 5, 6, 30_000, 30_001]) figures.recordAnswer(origin, milliseconds);
  figures.recordCommit(1, false);
  figures.recordCommit(7, true);
  const taken = figures.take()!;
  assert.equal(taken.answers.length, 1);
  const [{ pushService, counts, sumSeconds }] = taken.answers as [DeliveryFigures['answers'][0]];
  assert.equal(pushService, 'notify.windows.com');
  assert.equal(counts.length, durationBoundsSeconds.length + 1);
  assert.deepEqual([counts[0], counts[1], counts.at(-2), counts.at(-1)], [2, 1, 1, 1]);
  assert.equal(sumSeconds, 60.012);
  assert.deepEqual(taken.commits.counts.slice(0, 2), [1, 1]);
  assert.equal(taken.leasesLost, 1);
  assert.equal(figures.take(), undefined);
});

for (const threads of [0, 2]) {
  test(`a broadcast tells what its workers measured, each answer once, with ${threads} threads`, async () => {
    await using bench = await openBroadcastBench({ rows: 60 });
    const told: DeliveryFigures[] = [];
    const sender = bench.createSender({ threads, onFigures: (figures) => told.push(figures) });
    assertDone(await deliver(bench.store, sender), { accepted: 60 });
    const answers = told.flatMap((figures) => figures.answers);
    const { host } = new URL(bench.pushService.origin);
    assert.deepEqual(new Set(pluck(answers, 'pushService')), new Set([host]));
    assert.equal(sumOf(answers.flatMap(({ counts }) => counts)), 60);
    assert.ok(sumOf(told.flatMap(({ commits }) => commits.counts)) > 0);
    assert.equal(sumOf(told.map(({ leasesLost }) => leasesLost)), 0);
  });
}
