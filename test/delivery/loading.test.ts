// What is loaded before the first message: every module is waited for, in every thread.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** @returns what Node has loaded of its own once `module` is */
function loadedBy(module: string): string {
  const url = new URL(`../../src/${module}`, import.meta.url).href;
  const script = `await import(${JSON.stringify(url)}); console.log(process.moduleLoadList.join('\\n'))`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
}

test('a worker loads node:http only when it is needed, and neither it nor the service the fetch that an import brings', () => {
  assert.doesNotMatch(loadedBy('delivery/worker/create-worker.ts'), /undici|NativeModule http$/m);
  for (const module of ['transport/http1.ts', 'service/create-service.ts']) {
    const loaded = loadedBy(module);
    assert.match(loaded, /NativeModule http$/m);
    assert.doesNotMatch(loaded, /undici/, module);
  }
});

test('a worker loads no way to start processes: that the accelerator works is known, as a rule', () => {
  assert.doesNotMatch(loadedBy('delivery/worker/create-worker.ts'), /NativeModule child_process$/m);
});

test('a process whose threads deliver its broadcasts opens no connections itself', () => {
  assert.match(loadedBy('delivery/single/single-messages.ts'), /NativeModule tls$/m);
  assert.doesNotMatch(loadedBy('delivery/broadcaster.ts'), /NativeModule tls$/m);
});

test('a command loads the database only when it opens one', () => {
  assert.match(loadedBy('store/sqlite/open-store.ts'), /NativeModule sqlite$/m);
  assert.doesNotMatch(loadedBy('cli/program.ts'), /NativeModule (?:sqlite|tls|http)$/m);
});
