// The image of packaging/Containerfile as a process: with the root file system, the user, the rights, the variables and the volume that a container
// runtime would give it, by bubblewrap. What stands in the image is this repository and the Node that runs this.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { root } from '../../scripts/repository.ts';

export type Variables = Readonly<Record<string, string>>;

const file = readFileSync(join(root, 'packaging/Containerfile'), 'utf8');
const last = file.slice(file.lastIndexOf('\nFROM '));

/** The variables that the image sets. */
const imageVariables: Variables = Object.fromEntries(
  Array.from(last.matchAll(/^(?:ENV| {4}) ?(\w+)=(\S+)/gm), ([, name, value]) => [name!, value!]),
);
/** Its group has the same number. */
export const [, imageUser = ''] = /^USER (\d+):\1$/m.exec(last) ?? [];
const entrypoint = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(last)![1]!) as readonly string[];

export interface ContainerOptions {
  /** After the entrypoint of the image. */
  readonly words: readonly string[];
  readonly environment: Variables;
  /** What is mounted at /data. */
  readonly data: string;
  /** What is mounted at /etc/hosts. */
  readonly hosts: string;
  /** Of another image: its words are the whole command, and it runs as root with the rights that root has. */
  readonly isOfOthers?: boolean;
}

/** A runtime waits longer and longer, and does not give up. */
const maxRestarts = 10;

export class Container {
  readonly name: string;
  readonly #words: readonly string[];
  readonly #variables: Variables;
  readonly #user: readonly string[];
  #child!: ChildProcess;
  #ended!: Promise<number | null>;
  #pid = 0;
  #restarts = 0;
  output = '';

  /** Starts it. @param folder for what it needs on this side */
  constructor(name: string, folder: string, options: ContainerOptions) {
    const { words, environment, data, hosts, isOfOthers = false } = options;
    this.name = name;
    this.#variables = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      ...(!isOfOthers && imageVariables),
      ...environment,
    };
    const rights = ['--inh-caps=-all', '--bounding-set=-all', '--no-new-privs'];
    const ids = [`--reuid=${imageUser}`, `--regid=${imageUser}`, '--clear-groups'];
    this.#user = isOfOthers ? [] : ['setpriv', ...ids, ...rights];
    const files = [
      ['--ro-bind', '/usr', '/usr'],
      ['--ro-bind', '/etc', '/etc'],
      ['--ro-bind', hosts, '/etc/hosts'],
      ...['lib', 'lib64', 'bin', 'sbin'].map((path) => ['--symlink', `usr/${path}`, `/${path}`]),
      ['--ro-bind', makePrograms(folder), '/usr/local/bin'],
      ['--perms', '0755', '--dir', '/opt'],
      ['--ro-bind', root, '/opt/deskbell'],
      ['--ro-bind', process.execPath, '/opt/node'],
      ['--tmpfs', '/tmp'],
      ['--proc', '/proc', '--dev', '/dev'],
      ['--bind', data, '/data'],
      ['--remount-ro', '/'],
    ];
    const variables = Object.entries(this.#variables).map(([variable, value]) => [
      '--setenv',
      variable,
      value,
    ]);
    const first = ['--unshare-pid', '--unshare-ipc', '--as-pid-1', '--die-with-parent', '--info-fd', '3'];
    const command = [...this.#user, ...(isOfOthers ? [] : entrypoint), ...words];
    this.#words = [...files.flat(), ...first, '--clearenv', ...variables.flat(), ...command];
    this.#start();
  }

  #start(): void {
    const child = spawn('bwrap', this.#words, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.#ended = once(child, 'exit').then(([code]) => code as number | null);
    this.#pid = 0;
    void text(child.stdio[3] as Readable).then((info) => {
      this.#pid = (JSON.parse(info) as { readonly 'child-pid': number })['child-pid'];
    });
    this.#child = child;
  }

  /** Starts it again if it has ended, as the runtime does. */
  keepRunning(): void {
    if (this.#child.exitCode === null) return;
    if (this.#restarts === maxRestarts)
      throw new Error(`${this.name} ends with ${this.#child.exitCode}:\n${this.output}`);
    this.#restarts += 1;
    this.#start();
  }

  /** Runs a command in it, as `docker exec` does. */
  async exec(
    ...words: readonly string[]
  ): Promise<{ readonly exitCode: number | null; readonly output: string }> {
    if (this.#pid === 0 || this.#child.exitCode !== null)
      return { exitCode: null, output: 'It does not run.' };
    const into = ['--target', String(this.#pid), '--mount', '--pid', '--ipc', '--wdns=/'];
    const variables = Object.entries(this.#variables).map(([name, value]) => `${name}=${value}`);
    const child = spawn('nsenter', [...into, 'env', '-i', ...variables, ...this.#user, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [output, complaints, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { exitCode, output: output + complaints };
  }

  /** Asks it to end, as the runtime does. @returns its exit code */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#pid !== 0) process.kill(this.#pid, 'SIGTERM');
    return this.#ended;
  }
}

/** A folder with `deskbell` and `node`. */
function makePrograms(folder: string): string {
  const programs = mkdtempSync(join(folder, 'programs-'));
  chmodSync(programs, 0o755);
  const run = `exec /opt/node --disable-warning=ExperimentalWarning /opt/deskbell/src/cli/main.cts "$@"`;
  writeFileSync(join(programs, 'deskbell'), `#!/bin/sh\n${run}\n`, { mode: 0o755 });
  return programs;
}
