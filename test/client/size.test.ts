import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const root = join(import.meta.dirname, '../..');

test('page library and service worker, as built, are under 4 kB gzipped together', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-client-'));
  context.after(() => rm(folder, { recursive: true }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'src/client'), '--outDir', folder]);

  const sizes = await Promise.all(
    ['index.js', 'service-worker.js'].map(
      async (file) => gzipSync(await readFile(join(folder, file))).length,
    ),
  );
  const bytes = sizes.reduce((sum, size) => sum + size);
  context.diagnostic(`${bytes} bytes`);
  assert.ok(bytes < 4000, `${bytes} bytes`);

  const serviceWorker = await readFile(join(folder, 'service-worker.js'), 'utf8');
  assert.doesNotMatch(serviceWorker, /^(import|export)\b/m, 'a classic script');
});
