// Every example starts, answers a request of its own and ends; each mechanism's example is short. The shops are run in
// test/browser/shop.test.ts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const folder = join(root, 'examples');

/** What each example prints of the request that it makes, beside the status. */
const expected: Readonly<Record<string, readonly RegExp[]>> = {
  'logging-in-action.ts': [
    /"mechanism":"action","phase":"result".*"body":\{"name":"Ada"\}.*"result":\{"greeting":"Hello"\}/,
  ],
  'logging-filter.ts': [/"mechanism":"filter","phase":"result".*"status":200,"elapsedMs":\d+/],
  'logging-authenticator.ts': [
    /"mechanism":"authenticator","phase":"request".*"session":\{"SESSION":"ada"\},"verdict":"pass"/,
  ],
  'logging-action-creator.ts': [
    /"mechanism":"action-creator","phase":"request"/,
    /"mechanism":"action-creator","phase":"result"/,
  ],
};

describe('the examples', () => {
  let temporary: string;

  before(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'deskbell-examples-'));
    // They import the package by its name, which is what has been built.
    await run(process.execPath, [join(root, 'scripts/build.ts')], { cwd: root });
  });
  after(() => rm(temporary, { recursive: true }));

  test('are all run here', async () => {
    const files = (await readdir(folder)).filter(
      (file) => file.endsWith('.ts') && file !== 'serve-or-check.ts',
    );
    assert.deepEqual(files.sort(), ['express.ts', 'fastify.ts', ...Object.keys(expected)].sort());
  });

  for (const [file, patterns] of Object.entries(expected)) {
    test(`${file} answers`, async () => {
      const { stdout } = await run(process.execPath, [join(folder, file), '--check'], {
        timeout: 30_000,
        env: { ...process.env, TMPDIR: temporary },
      });
      for (const pattern of [/^200 /m, ...patterns]) assert.match(stdout, pattern);
    });
  }

  for (const file of Object.keys(expected).filter((name) => name.startsWith('logging-'))) {
    test(`${file} has under 40 lines`, async () => {
      assert.ok((await readFile(join(folder, file), 'utf8')).split('\n').length < 40);
    });
  }
});
