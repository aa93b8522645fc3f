// packaging/compose.yaml and packaging/kubernetes/ as they stand there, on processes that have what their containers would have.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { bubblewrap, caddy, ip, python, skipWithout } from '../../scripts/install-test-tools.ts';
import { root } from '../../scripts/repository.ts';
import { skipWithoutNamespaces } from '../../tools/namespaces.ts';
import { installPythonPackages } from '../../tools/python-packages.ts';
import { temporaryFolder } from '../cli/run-command.ts';

const namespaces = ['--net', '--mount'];
const skip =
  skipWithout('what packaging/ deploys', [bubblewrap, caddy, ip]) ||
  skipWithoutNamespaces('What packaging/ deploys', namespaces);

const skipValidation = skipWithout('the schemas of Kubernetes', [python]);

test(
  'the manifests have the members that Kubernetes knows, and no others',
  { skip: skipValidation },
  async () => {
    const programs = await installPythonPackages('kubernetes-validate', ['kubernetes-validate==1.37.0']);
    const validate = (file: string) =>
      promisify(execFile)(join(programs, 'kubernetes-validate'), [
        '--strict',
        '--kubernetes-version',
        '1.37',
        file,
      ]);
    const files = globSync('packaging/kubernetes/*.yaml', { cwd: root, exclude: ['**/kustomization.yaml'] });
    assert.equal(files.length, 5);
    for (const file of files) await validate(join(root, file));
    const wrong = join(await temporaryFolder(), 'wrong.yaml');
    await writeFile(wrong, 'apiVersion: v1\nkind: Service\nmetadata: { name: x }\nspec: { port: 80 }\n');
    await assert.rejects(validate(wrong));
  },
);

for (const [name, what] of [
  ['compose', 'a service, a worker, PostgreSQL and Caddy start, are healthy, and deliver what is sent'],
  [
    'kubernetes',
    'a pod passes its probes beside the variables of services, and with the modes of fsGroup at its next start',
  ],
] as const)
  test(`${name}: ${what}`, { skip }, async () => {
    const words = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'in-network.ts'), name];
    const { stdout } = await promisify(execFile)('unshare', [...namespaces, process.execPath, ...words]);
    assert.match(stdout, /everything runs/);
  });
