import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const root = join(import.meta.dirname, '../..');

test('page library and service worker, as built, are under 8 kB gzipped together', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-client-'));
  context.after(() => rm(folder, { recursive: true }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', join(root, 'src/client'), '--outDir', folder]);

  const scripts = (await readdir(folder)).filter((file) => file.endsWith('.js'));
  const library = await Promise.all(
    scripts.filter((file) => file !== 'service-worker.js').map((file) => readFile(join(folder, file))),
  );
  // One file, as a bundler makes it; not minified.
  const bytes =
    gzipSync(Buffer.concat(library)).length +
    gzipSync(await readFile(join(folder, 'service-worker.js'))).length;
  context.diagnostic(`${bytes} bytes`);
  assert.ok(bytes < 8000, `${bytes} bytes`);

  const serviceWorker = await readFile(join(folder, 'service-worker.js'), 'utf8');
  assert.doesNotMatch(serviceWorker, /^(import|export)\b/m, 'a classic script');
});
