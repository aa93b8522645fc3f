// The parts of `npm run prove`: changes that apply, and what it takes for a test to have noticed one.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { findGaps, findStale, toProofs } from '../../scripts/prove/proofs.ts';
import { applyChange } from '../../scripts/prove/working-copy.ts';
import { root } from '../../scripts/repository.ts';
import { readRequirements } from '../../scripts/requirements.ts';

test('every claim has a change that breaks it, no change is of something else, and each applies', async () => {
  const requirements = await readRequirements();
  const stale = await findStale(requirements.flatMap(toProofs));
  assert.deepEqual([...findGaps(requirements), ...stale.values()], []);
});

describe('a change', () => {
  const change = { what: '', file: 'a.ts', search: 'one', replacement: "$& $' two" };

  test('replaces its text, and takes its replacement as it is', () => {
    assert.equal(applyChange('zero one three', change), "zero $& $' two three");
  });

  for (const [source, count] of [
    ['zero', 0],
    ['one one', 2],
  ] as const) {
    test(`does not apply where its text stands ${count} times`, () => {
      assert.throws(() => applyChange(source, change), {
        message: `a.ts has the text "one" ${count} times, not once.`,
      });
    });
  }
});

describe('the result of a test', () => {
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-prove-test-'));
  after(() => rmSync(folder, { recursive: true }));
  const imports = "import { before, describe, test } from 'node:test';\n";
  const cases: readonly [string, string, object][] = [
    ['passes', "test('title', () => {});", { kind: 'passed' }],
    ['fails', "test('title', () => { throw new Error('no'); });", { kind: 'failed', reason: 'no' }],
    [
      'fails by what it has started',
      "test('title', () => new Promise(() => { setTimeout(() => { throw new Error('no'); }); setInterval(() => {}, 1000); }));",
      { kind: 'failed', reason: 'no' },
    ],
    [
      'fails by a promise that nobody waits for',
      "test('title', () => new Promise(() => { void Promise.reject(new Error('no')); setInterval(() => {}, 1000); }));",
      { kind: 'failed', reason: 'no' },
    ],
    [
      'is not there',
      "test('another', () => {});",
      { kind: 'not run', reason: 'there is no test of this title' },
    ],
    [
      'is skipped',
      "test('title', { skip: 'why' }, () => {});",
      { kind: 'not run', reason: 'it is skipped: why' },
    ],
    [
      'comes after a hook that fails',
      "describe('s', () => { before(() => { throw new Error('no'); }); test('title', () => {}); });",
      { kind: 'not run' },
    ],
    ['stands in a file that throws', "throw new Error('no'); test('title', () => {});", { kind: 'not run' }],
  ];

  for (const [index, [what, source, expected]] of cases.entries()) {
    test(`that ${what}`, async () => {
      const file = `case-${index}.mjs`;
      writeFileSync(join(folder, file), imports + source);
      assert.partialDeepStrictEqual(await runTestElsewhere('runTest', folder, file), expected);
    });
  }

  for (const [what, failures, kind] of [
    ['once', 1, 'passed'],
    ['twice', 2, 'failed'],
  ] as const) {
    test(`without a change has ${kind} where it fails ${what}`, async () => {
      const file = `fails-${what}.mjs`;
      const runs = join(folder, `runs-${what}`);
      writeFileSync(
        join(folder, file),
        `${imports}import { appendFileSync, statSync } from 'node:fs';
        test('title', () => {
          appendFileSync(${JSON.stringify(runs)}, '.');
          if (statSync(${JSON.stringify(runs)}).size <= ${failures}) throw new Error('no');
        });`,
      );
      const baseline = await runTestElsewhere('runBaseline', folder, file);
      assert.partialDeepStrictEqual(baseline, { result: { kind } });
    });
  }
});

/** In a process of its own: node:test does not start tests from within a test. */
async function runTestElsewhere(
  name: 'runTest' | 'runBaseline',
  folder: string,
  file: string,
): Promise<object> {
  const script = join(folder, `run-${file}`);
  const module = pathToFileURL(join(root, 'scripts/prove/run-test.ts')).href;
  writeFileSync(
    script,
    `import { ${name} } from ${JSON.stringify(module)};
    const [, , folder, file] = process.argv;
    console.log(JSON.stringify(await ${name}(folder, { file, title: 'title' }, 60_000)));`,
  );
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [script, folder, file], { env });
  return JSON.parse(stdout) as object;
}
