// Loaded before each test file by `npm test`. A file ends by itself after its last test, since a service, sender or store
// leaves nothing open once it is closed. Where something is left open, this names it and fails the file instead of waiting.
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { loadTestRunner } from './load-test-runner.ts';

/** What a file's last hooks, such as the one that stops PostgreSQL, may take. */
const graceMs = Number(process.env['DESKBELL_TEST_GRACE_MS'] ?? 30_000);

// undefined in the process that starts one for each file; threads have no tests
if (process.env['NODE_TEST_CONTEXT'] !== undefined && isMainThread) {
  const { after } = await loadTestRunner();
  // the child of a test that has failed would keep the output of the file open, and the whole run with it
  const children = new Set<ChildProcess>();
  subscribe('child_process', (message) => {
    const { process: child } = message as { readonly process: ChildProcess };
    children.add(child);
    child.once('exit', () => children.delete(child));
  });
  process.once('exit', () => {
    for (const child of children) child.kill('SIGKILL');
  });
  after(() => {
    setTimeout(() => {
      const file = relative('', process.argv[1] ?? '');
      console.error(`${file} left open: ${process.getActiveResourcesInfo().join(', ')}`);
      process.exit(1);
    }, graceMs).unref();
  });
}
