// What processes and threads that deliver load, and the limits of a thread.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { countThreads } from '../../src/delivery/settings/sender-options.ts';
import { threadsFor } from '../../src/delivery/worker/run-workers.ts';

test('threads are as many as are worth it, and as may be', () => {
  assert.deepEqual(
    [1999, 2000, 3999, 18_000].map((rows) => threadsFor(rows, 4)),
    [0, 1, 1, 4],
  );
  assert.equal(countThreads(undefined, {}), availableParallelism(), 'one per core by default');
  assert.equal(countThreads(3, {}), 3);
});

const threadHeap = new URL('../../src/delivery/worker/run-workers.ts', import.meta.url).href;
/** Prints the heap's limit in MB: of a plain thread, of two that deliver, and of a plain one after them. */
const heapScript = `
  import { Worker } from 'node:worker_threads';
  import { once } from 'node:events';
  const { startThread } = await import(process.argv[1]);
  const url = new URL("data:text/javascript," + encodeURIComponent(
    "import v8 from 'node:v8'; import { parentPort } from 'node:worker_threads';" +
    "parentPort.postMessage(v8.getHeapStatistics().heap_size_limit / 2 ** 20);"));
  const limitOf = async (thread) => {
    const [[limit]] = await Promise.all([once(thread, 'message'), once(thread, 'exit')]);
    return limit;
  };
  const plain = () => limitOf(new Worker(url));
  const deliver = () => limitOf(startThread(url, {}));
  console.log(JSON.stringify([await plain(), ...await Promise.all([deliver(), deliver()]), await plain()]));
`;

function limitsWith(flags: string): readonly number[] {
  const words = ['--input-type=module', '--eval', heapScript, threadHeap];
  const env = { ...process.env, NODE_OPTIONS: flags };
  const { stdout, stderr } = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
  assert.equal(stderr, '');
  return JSON.parse(stdout) as number[];
}

const [ownLimit, limit] = limitsWith('');

for (const flags of [
  '--max-semi-space-size=64',
  '--max-semi-space-size=64 --max_old_space_size=300',
  '--max-heap-size=500',
  '--max-old-space-size-percentage=20',
]) {
  test(`with ${flags} a thread that delivers has its own limits, and others have those`, () => {
    const [before, first, second, after] = limitsWith(flags);
    assert.deepEqual([first, second], [limit, limit]);
    assert.notEqual(before, ownLimit);
    // a share is rounded, and has the main thread's young generation in it
    if (flags.includes('percentage'))
      assert.ok(after! >= before! && after! < 1.1 * before!, `${before} ${after}`);
    else assert.equal(after, before);
  });
}

// What is loaded before the first message: every module is waited for, in every thread.

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
