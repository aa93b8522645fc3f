// The accelerator's C code under AddressSanitizer and UndefinedBehaviorSanitizer: its own check, and arguments of any
// kind and length.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { compileAccelerator } from '../scripts/accelerator/compile.ts';
import { findOrFetchHeaders } from '../scripts/accelerator/inputs.ts';
import { portable } from '../test/accelerator/lanes.ts';

const folder = mkdtempSync(join(tmpdir(), 'deskbell-sanitizers-'));
after(() => rmSync(folder, { recursive: true, force: true }));

for (const [lanes, more] of [
  ['this processor', []],
  ['plain C', [portable]],
] as const) {
  test(`no argument makes the native code read or write where it must not, with the lanes of ${lanes}`, () => {
    const file = join(folder, 'sanitized.node');
    const flags = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all', ...more];
    compileAccelerator(file, findOrFetchHeaders(), flags);
    const libraries = ['libasan.so', 'libubsan.so'].map((name) =>
      execFileSync('cc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim(),
    );
    // Node itself leaves memory to the end of the process, so leaks are not looked for here
    const env = { ...process.env, LD_PRELOAD: libraries.join(' '), ASAN_OPTIONS: 'detect_leaks=0' };
    const words = [join(import.meta.dirname, 'native-calls.ts'), file];
    assert.match(execFileSync(process.execPath, words, { env, encoding: 'utf8' }), /^passed, \d+ calls/);
  });
}
