// The image of packaging/Containerfile, built from the package as it is published, and what is done with containers.
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, cp, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { containers, find } from '../scripts/install-test-tools.ts';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');
/** Not above what a container may be given here. */
const limits = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096'];

const [podmanProgram, runc, debootstrap] = containers;
const pathOf = (program: (typeof containers)[number] | undefined): string => (program && find(program)) ?? '';

/** @returns what it prints @throws with what it prints as errors */
export async function podman(words: readonly string[], timeoutMs = 60_000): Promise<string> {
  const { stdout } = await execute(pathOf(podmanProgram), ['--runtime', pathOf(runc), ...words], {
    timeout: timeoutMs,
    maxBuffer: 2 ** 26,
  });
  return stdout.trim();
}

/** Starts a container. @returns its id */
export const run = (...words: readonly string[]): Promise<string> =>
  podman(['run', '--detach', ...limits, ...words]);

/** @returns the image's name */
export async function buildImage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-container-'));
  try {
    await execute('npm', ['pack', '--silent', '--pack-destination', folder], {
      cwd: root,
      maxBuffer: 2 ** 26,
    });
    const file = await readFile(join(root, 'packaging/Containerfile'), 'utf8');
    const [, base = ''] = /^FROM (\S+)/m.exec(file) ?? [];
    const image = 'localhost/deskbell-soak';
    await podman(['manifest', 'rm', image]).catch(() => {});
    // as a release does, for this machine's platform
    const script = join(root, 'scripts/release/build-image.sh');
    const [tarball = ''] = globSync(join(folder, 'deskbell-*.tgz'));
    const options = ['--network', 'host', ...limits, ...(await baseFor(base))];
    await execute(script, [tarball, image, ...options], {
      env: {
        ...process.env,
        PODMAN: `${pathOf(podmanProgram)} --runtime ${pathOf(runc)}`,
        PLATFORMS: `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`,
      },
      timeout: 600_000,
      maxBuffer: 2 ** 26,
    });
    return image;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Builds `Containerfile` of the folder; with the network, as `npm install` and `apt-get` need it. */
export async function build(folder: string, image: string, words: readonly string[] = []): Promise<void> {
  const file = ['--file', join(folder, 'Containerfile'), '--tag', image, '--network', 'host'];
  await podman(['build', '--format', 'docker', ...limits, ...words, ...file, folder], 600_000);
}

/** The image that is named, where a registry of images can be reached; else one like it, of Debian's packages and this Node. */
async function baseFor(name: string): Promise<readonly string[]> {
  const pulled = await podman(['pull', '--quiet', `docker.io/library/${name}`]).catch(() => undefined);
  if (pulled !== undefined) return [];
  const image = 'localhost/deskbell-base';
  const suite = /-(\w+)-slim$/.exec(name)?.[1] ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-base-'));
  const archive = `${folder}.tar`;
  try {
    const packages = '--include=ca-certificates,libatomic1';
    await execute(pathOf(debootstrap), ['--variant=minbase', packages, suite, folder], {
      timeout: 600_000,
      maxBuffer: 2 ** 26,
    });
    await copyFile(process.execPath, join(folder, 'usr/local/bin/node'));
    // …/npm/bin/npm-cli.js
    const npm = dirname(dirname(await realpath(find({ names: ['npm'], debianPackage: 'npm' }) ?? '')));
    await cp(npm, join(folder, 'usr/local/lib/node_modules/npm'), { recursive: true });
    await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(folder, 'usr/local/bin/npm'));
    // what this machine trusts beyond the usual
    const certificates = '/etc/ssl/certs/ca-certificates.crt';
    const trusted = process.env['NODE_EXTRA_CA_CERTS'];
    if (trusted !== undefined) await copyFile(trusted, join(folder, certificates));
    await podman(['image', 'rm', '--force', image]).catch(() => {});
    await execute('tar', ['-C', folder, '-cf', archive, '.'], { timeout: 300_000 });
    await podman(['import', '--change', `ENV NODE_EXTRA_CA_CERTS=${certificates}`, archive, image], 300_000);
    return ['--build-context', `${name}=container-image://${image}`];
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(archive, { force: true });
  }
}
