// More of the files that test/cli/import-shapes.test.ts imports.
import { test } from 'node:test';
import { importGenerated } from './generated-imports.ts';
import { newData } from './run-command.ts';

for (let first = 13; first < 400; first += 50) {
  test(`files of all kinds, mixed and damaged, of the seeds from ${first}`, async () => {
    const { run } = await newData();
    for (let seed = first; seed < first + 50; seed += 1) await importGenerated(seed, run);
  });
}
