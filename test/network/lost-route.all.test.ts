// A machine whose names resolve and whose route is gone: a broadcast loses nothing, and goes on when the route is back.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ip, skipWithout } from '../../scripts/install-test-tools.ts';
import { skipWithoutNamespaces } from '../../tools/namespaces.ts';

const namespaces = ['--net'];
const skip =
  skipWithout('the test without a route', [ip]) ||
  skipWithoutNamespaces('The test without a route', namespaces);

test(
  'a broadcast without a route waits and loses nothing, whether it is gone at first or later',
  { skip },
  async (t) => {
    const { stdout } = await promisify(execFile)('unshare', [
      ...namespaces,
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, 'lost-route.ts'),
    ]);
    t.diagnostic(stdout.trim());
    assert.match(stdout, /lost twice/);
  },
);
