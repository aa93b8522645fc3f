import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readClientFile } from '../../src/http/client-files.ts';

test('page library and service worker, as built, are under 11 kB gzipped together', async (context) => {
  const library = await readClientFile('index.js');
  const serviceWorker = await readClientFile('service-worker.js');
  const bytes = gzipSync(library).length + gzipSync(serviceWorker).length;
  context.diagnostic(`${bytes} bytes`);
  assert.ok(bytes < 11_000, `${bytes} bytes`);
  assert.doesNotMatch(serviceWorker, /\b(import|export)\b/, 'a classic script');
});

test('the element <deskbell-subscribe>, as built, is under 6 kB gzipped, and its other languages too', async (context) => {
  for (const file of ['subscribe.js', 'subscribe/languages.js']) {
    const bytes = gzipSync(await readClientFile(file)).length;
    context.diagnostic(`${file}: ${bytes} bytes`);
    assert.ok(bytes < 6000, `${file}: ${bytes} bytes`);
  }
});
