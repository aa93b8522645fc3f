// Loaded before each test file by `npm test`. A file ends by itself after its last test, since a service, sender or store
// leaves nothing open once it is closed. If something is left open, or in the temporary folder, this names it and fails the file.
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { join, relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { root } from '../scripts/repository.ts';
import { useOwnFolders } from '../tools/temporary-folders.ts';
import { loadTestRunner } from './load-test-runner.ts';

/** What a file's last hooks, such as the one that stops PostgreSQL, may take. */
const graceMs = Number(process.env['DESKBELL_TEST_GRACE_MS'] ?? 30_000);

// undefined in the process that starts one for each file; threads have no tests
if (process.env['NODE_TEST_CONTEXT'] !== undefined && isMainThread) {
  const { after } = await loadTestRunner();
  // or npm keeps what it has compiled in the temporary folder
  process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/test');
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
  // a run that is stopped ends its files: their children and folders go too
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const file = relative('', process.argv[1] ?? '');
  useOwnFolders('deskbell-test', (left) => {
    console.error(`${file} left in the temporary folder: ${left.join(', ')}`);
    process.exitCode ||= 1;
  });
  after(() => {
    setTimeout(() => {
      console.error(`${file} left open: ${process.getActiveResourcesInfo().join(', ')}`);
      process.exit(1);
    }, graceMs).unref();
  });
}
