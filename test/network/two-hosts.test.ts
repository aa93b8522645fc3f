// Two machines with a service and a worker each, and a third one with PostgreSQL and the push service: network namespaces of
// Linux, in which the commands of docs/scaling.md are run as they stand there.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ip, openssl, skipWithout } from '../../scripts/install-test-tools.ts';

const skip = skipWithout('the test with hosts of their own', [ip, openssl]) || mayNotMakeHosts();

test('two hosts started as docs/scaling.md says share registrations and broadcasts', { skip }, async (t) => {
  // in a network of its own, which ends with it
  const { stdout } = await promisify(execFile)('unshare', [
    '--net',
    '--mount',
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'two-hosts.ts'),
  ]);
  t.diagnostic(stdout.trim());
  assert.match(stdout, /both hosts/);
});

/** @throws {Error} with CI=true, where nothing is skipped */
function mayNotMakeHosts(): false | string {
  const { status, stderr } = spawnSync('unshare', ['--net', '--mount', 'true'], { encoding: 'utf8' });
  if (status === 0) return false;
  const sentence = `The test with hosts of their own needs root on Linux, to make network namespaces: ${stderr ?? 'there is no unshare'}`;
  if (process.env['CI'] === 'true') throw new Error(sentence);
  return sentence;
}
