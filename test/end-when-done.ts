// Loaded before each test file by `npm test`. A file ends by itself after its last test, since a service, sender or store
// leaves nothing open once it is closed. Where something is left open, this names it and fails the file instead of waiting.
import { relative } from 'node:path';
import { loadTestRunner } from './load-test-runner.ts';

/** What a file's last hooks, such as the one that stops PostgreSQL, may take. */
const graceMs = Number(process.env['DESKBELL_TEST_GRACE_MS'] ?? 30_000);

// undefined in the process that starts one for each file
if (process.env['NODE_TEST_CONTEXT'] !== undefined) {
  const { after } = await loadTestRunner();
  after(() => {
    setTimeout(() => {
      const file = relative('', process.argv[1] ?? '');
      console.error(`${file} left open: ${process.getActiveResourcesInfo().join(', ')}`);
      process.exit(1);
    }, graceMs).unref();
  });
}
