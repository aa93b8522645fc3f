// A test file that leaves something open ends all the same, with a report of each of its tests.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const preload = pathToFileURL(join(import.meta.dirname, 'end-when-done.ts')).href;

for (const [what, statement] of [
  ['passes', ''],
  ['fails', `throw new Error('on purpose')`],
] as const) {
  test(`a file that ${what} with a server open is reported to its last test, and fails`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'deskbell-'));
    t.after(() => rm(folder, { recursive: true }));
    const file = join(folder, 'open.test.mjs');
    await writeFile(
      file,
      `import { createServer } from 'node:net';
      import { test } from 'node:test';
      test('opens', () => { createServer().listen(0); ${statement} });
      test('the last one', () => undefined);`,
    );
    const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--import', preload, '--test', '--test-reporter=tap', file],
      { encoding: 'utf8', env: { ...env, DESKBELL_TEST_GRACE_MS: '100' } },
    );
    assert.equal(status, 1, stdout);
    assert.match(stdout, /open\.test\.mjs left open: .*TCPServerWrap/);
    assert.match(stdout, /ok \d+ - the last one/);
    assert.match(stdout, /^# fail 1$/m);
  });
}
