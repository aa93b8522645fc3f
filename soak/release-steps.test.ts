// The steps of a release that need nobody's approval: the package is staged, without a network, as far as npm goes then.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, renameSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');
const workflow = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8');

test('the package is staged for everybody, a version to try only for those who ask for it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-release-'));
  t.after(() => rm(folder, { recursive: true }));
  // the npm of the release: older ones cannot stage
  const [npm = ''] = /npm@\d+\.\d+\.\d+/.exec(workflow) ?? [];
  await execute('npm', ['install', '--prefix', folder, '--no-save', npm]);
  const packed = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await execute('npm', packed, { cwd: root, maxBuffer: 2 ** 26 });
  const [{ filename, version }] = JSON.parse(stdout) as [
    { readonly filename: string; readonly version: string },
  ];
  const env = {
    ...process.env,
    PATH: `${join(folder, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`,
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_fetch_retries: '0',
    npm_config_loglevel: 'notice',
  };
  const stage = async (tarball: string): Promise<string> => {
    const script = join(root, 'scripts/release/stage-package.sh');
    const result = await execute(script, [tarball, '--dry-run'], { cwd: folder, env, maxBuffer: 2 ** 26 });
    assert.match(
      result.stdout,
      new RegExp(`^\\+ deskbell@${version.replaceAll('.', '\\.')} \\(staged\\)$`, 'm'),
    );
    return result.stderr;
  };
  assert.match(await stage(filename), / with tag latest and public access /);
  const trial = 'deskbell-9.9.9-rc.1.tgz';
  renameSync(join(folder, filename), join(folder, trial));
  assert.match(await stage(trial), / with tag next and public access /);
});
