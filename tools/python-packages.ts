// Programs of PyPI, at exact versions, for tests.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { find, python } from '../scripts/install-test-tools.ts';
import { makeOnce } from './make-once.ts';

const execute = promisify(execFile);

/**
 * @param packages such as `kubernetes-validate==1.37.0`
 * @returns the folder of their programs, and of a `python` that has them
 */
export async function installPythonPackages(name: string, packages: readonly string[]): Promise<string> {
  const folder = await makeOnce(name, async (path) => {
    await execute(find(python) ?? '', ['-m', 'venv', path]);
    await execute(join(path, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages]);
  });
  return join(folder, 'bin');
}
