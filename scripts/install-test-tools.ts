// The programs that tests, bench and screenshot use, and their Debian packages. Run as a script it installs, as root,
// what the tests miss; elsewhere it says what to install, and the tests that need it skip with the same sentence,
// except with CI=true, where that is a failure.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { promisify } from 'node:util';

/** A program, or several of which one does, and the Debian package that brings it. */
export interface Program {
  /** On the path, or anywhere by an absolute path. */
  readonly names: readonly string[];
  readonly debianPackage: string;
  /** An older one is as good as none. */
  readonly leastVersion?: number;
}

/** The oldest browsers that the tests are known to pass with. With Firefox 140, the ESR before, nearly all fail. */
export const firefox: Program = {
  names: ['firefox-esr', 'firefox'],
  debianPackage: 'firefox-esr',
  leastVersion: 153,
};
export const chromium: Program = { names: ['chromium'], debianPackage: 'chromium', leastVersion: 156 };
/** A desktop that nobody sits at: screen, message bus, notification daemon. */
export const desktop: readonly Program[] = [
  { names: ['Xvfb'], debianPackage: 'xvfb' },
  // The small one of the packages with a session bus: dunst by itself would bring the one with systemd.
  { names: ['dbus-launch'], debianPackage: 'dbus-x11' },
  { names: ['dunst'], debianPackage: 'dunst' },
];

/** Servers that are not ours, to hold the transport against. */
export const nginx: Program = { names: ['nginx', '/usr/sbin/nginx'], debianPackage: 'nginx-light' };
export const nghttpd: Program = { names: ['nghttpd'], debianPackage: 'nghttp2-server' };
export const go: Program = { names: ['go'], debianPackage: 'golang-go' };
/** A pool of connections between us and PostgreSQL. */
export const pgbouncer: Program = { names: ['pgbouncer', '/usr/sbin/pgbouncer'], debianPackage: 'pgbouncer' };
/** Make hosts of their own out of one machine. */
export const ip: Program = { names: ['ip', '/usr/sbin/ip', '/sbin/ip'], debianPackage: 'iproute2' };
/** Makes key files in the forms of other tools. */
export const openssl: Program = { names: ['openssl'], debianPackage: 'openssl' };
/** Checks metrics and alert rules. */
export const promtool: Program = { names: ['promtool'], debianPackage: 'prometheus' };
/** Builds the accelerator. */
export const compiler: Program = { names: ['cc', 'gcc', 'clang'], debianPackage: 'gcc' };
/** What Debian's compiler recommends and does not bring: the C library's headers. */
const headers: Program = { names: ['/usr/include/stdio.h'], debianPackage: 'libc6-dev' };
/** Fetches programs of PyPI. */
const pip: Program = { names: ['pip3', 'pip'], debianPackage: 'python3-pip' };

/** Checks the unit of packaging/, and is what a service tells how it is. */
export const systemd: Program = { names: ['systemd-analyze'], debianPackage: 'systemd' };

/** Checks the other proxy example of packaging/. */
export const caddy: Program = { names: ['caddy'], debianPackage: 'caddy' };
/** Build the container of packaging/, and run it: `runc`, since `crun` refuses to where version 1 and 2 of cgroups are mixed. */
export const containers: readonly Program[] = [
  { names: ['podman'], debianPackage: 'podman' },
  { names: ['runc', '/usr/sbin/runc'], debianPackage: 'runc' },
  { names: ['debootstrap', '/usr/sbin/debootstrap'], debianPackage: 'debootstrap' },
];

/** Gives a process what a container would have. */
export const bubblewrap: Program = { names: ['bwrap'], debianPackage: 'bubblewrap' };

/** Completes command lines. */
export const zsh: Program = { names: ['zsh'], debianPackage: 'zsh' };
export const fish: Program = { names: ['fish'], debianPackage: 'fish' };

/** Run the recipes of the operator's API. */
export const curl: Program = { names: ['curl'], debianPackage: 'curl' };
export const python: Program = { names: ['python3'], debianPackage: 'python3' };
export const php: Program = { names: ['php'], debianPackage: 'php-cli' };

/** The program's path, undefined if it is not installed, or too old. */
export function find(program: Program): string | undefined {
  const { leastVersion } = program;
  const paths = installedPaths(program);
  return leastVersion === undefined ? paths[0] : paths.find((path) => versionOf(path) >= leastVersion);
}

function installedPaths({ names }: Program): readonly string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return names.flatMap((name) => folders.map((folder) => resolve(folder, name))).filter(existsSync);
}

/** The first number that the program says of itself; 0 if it says none. */
function versionOf(path: string): number {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return Number(/\d+/.exec(stdout ?? '')?.[0] ?? 0);
}

/**
 * Why tests that need the programs are to be skipped, as `node:test` takes it.
 *
 * @throws {Error} with CI=true, where nothing is skipped
 */
export function skipWithout(purpose: string, programs: readonly Program[]): false | string {
  const sentence = missingSentence(purpose, programs);
  if (sentence !== undefined && process.env['CI'] === 'true') throw new Error(sentence);
  return sentence ?? false;
}

/** What to tell whoever has not all of the programs; undefined if nothing is missing. */
function missingSentence(purpose: string, programs: readonly Program[]): string | undefined {
  const packages = missingPackages(programs);
  if (packages.length === 0) return undefined;
  const tooOld = programs
    .filter((program) => !find(program))
    .flatMap((program) =>
      installedPaths(program)
        .slice(0, 1)
        .map((path) => ` ${path} is version ${versionOf(path)}; ${program.leastVersion} or newer is needed.`),
    );
  return (
    `For ${purpose}, install ${packages.join(', ')} (on Debian: sudo apt-get install ${packages.join(' ')}).` +
    tooOld.join('')
  );
}

/** Installs what is missing where that is possible; says in one line what it does, or what is left to do. */
export async function install(purpose: string, programs: readonly Program[]): Promise<boolean> {
  const packages = missingPackages(programs);
  if (packages.length === 0) return true;
  if (process.getuid?.() === 0 && find({ names: ['apt-get'], debianPackage: 'apt' })) {
    console.log(`Installing ${packages.join(', ')} with apt-get, for ${purpose} …`);
    await aptGet('update').catch(reportFailure);
    await aptGet('install', '--yes', '--no-install-recommends', ...packages).catch(reportFailure);
  }
  const sentence = missingSentence(purpose, programs);
  if (sentence) console.error(sentence);
  return sentence === undefined;
}

function missingPackages(programs: readonly Program[]): readonly string[] {
  return programs.filter((program) => !find(program)).map(({ debianPackage }) => debianPackage);
}

async function aptGet(...parameters: readonly string[]): Promise<void> {
  // run level 1 keeps a server's package from starting it
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  await promisify(execFile)('apt-get', ['-qq', ...parameters], { env, maxBuffer: 2 ** 26 });
}

function reportFailure(error: Error & { readonly stderr?: string }): void {
  console.error((error.stderr || error.message).trim());
}

if (import.meta.main) {
  const onLinux = process.platform === 'linux' ? [headers, pip, ip, bubblewrap] : [];
  const programs = [
    firefox,
    chromium,
    ...desktop,
    nginx,
    caddy,
    systemd,
    nghttpd,
    go,
    openssl,
    curl,
    zsh,
    fish,
    python,
    php,
    promtool,
    pgbouncer,
    compiler,
    ...onLinux,
  ];
  const isComplete = await install('the tests', programs);
  if (!isComplete && process.env['CI'] === 'true') process.exitCode = 1;
}
