// A thread that delivers has its own limits, whatever NODE_OPTIONS say, and leaves them as they were for the rest of the process. The
// flags that are set for it are ones that V8 has.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { resolveThreadCount, threadsFor } from '../../src/delivery/worker/thread-count.ts';

test('threads are as many as are worth it, and as may be', () => {
  assert.deepEqual(
    [1999, 2000, 3999, 18_000].map((rows) => threadsFor(rows, 4)),
    [0, 1, 1, 4],
  );
  assert.equal(resolveThreadCount(undefined, {}), availableParallelism(), 'one per core by default');
  assert.equal(resolveThreadCount(3, {}), 3);
});

const module = new URL('../../src/delivery/worker/thread-heap.ts', import.meta.url).href;
/** Prints the heap's limit in MB: of a plain thread, of two that deliver, and of a plain one after them. */
const script = `
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
  const words = ['--input-type=module', '--eval', script, module];
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
