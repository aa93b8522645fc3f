// Two machines with a service and a worker each, and a third one with PostgreSQL and the push service: network namespaces of
// Linux, in which the commands of docs/scaling.md are run as they stand there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ip, openssl, skipWithout } from '../../scripts/install-test-tools.ts';
import { skipWithoutNamespaces } from '../../tools/namespaces.ts';

const namespaces = ['--net', '--mount'];
const skip =
  skipWithout('the test with hosts of their own', [ip, openssl]) ||
  skipWithoutNamespaces('The test with hosts of their own', namespaces);

test('two hosts started as docs/scaling.md says share registrations and broadcasts', { skip }, async (t) => {
  // in a network of its own, which ends with it
  const { stdout } = await promisify(execFile)('unshare', [
    ...namespaces,
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'two-hosts.ts'),
  ]);
  t.diagnostic(stdout.trim());
  assert.match(stdout, /both hosts/);
});
