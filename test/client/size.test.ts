import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readClientFile } from '../../src/http/client-files.ts';

test('page library and service worker, as built, are under 11.1 kB gzipped together', async (context) => {
  const library = await readClientFile('index.js');
  const serviceWorker = await readClientFile('service-worker.js');
  const bytes = gzipSync(library).length + gzipSync(serviceWorker).length;
  context.diagnostic(`${bytes} bytes`);
  assert.ok(bytes < 11_100, `${bytes} bytes`);
  assert.doesNotMatch(serviceWorker, /\b(import|export)\b/, 'a classic script');
});

test('the element <deskbell-subscribe>, as built, is under 6 kB gzipped, its other languages 6.5 kB', async (context) => {
  for (const [file, most] of [
    ['subscribe.js', 6000],
    ['subscribe/languages.js', 6500],
  ] as const) {
    const bytes = gzipSync(await readClientFile(file)).length;
    context.diagnostic(`${file}: ${bytes} bytes`);
    assert.ok(bytes < most, `${file}: ${bytes} bytes`);
  }
});
