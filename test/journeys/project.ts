// A user's project: an empty directory, the packed package installed in it as the README says, and programs run there
// as a shell finds them.
import { execFile, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export interface RunningProgram extends AsyncDisposable {
  /** The first line of output that `pattern` matches. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Stops it as Ctrl-C does, unless another signal is given; resolves to its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ProjectOptions {
  /** The Node that its programs run on. Default: this one. */
  readonly node?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

export class Project implements AsyncDisposable {
  readonly folder: string;
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(folder: string, { node = process.execPath, environment = {} }: ProjectOptions) {
    this.folder = folder;
    const path = [join(folder, 'global/bin'), dirname(node), process.env['PATH'] ?? ''].join(delimiter);
    this.#environment = { PATH: path, HOME: folder, ...environment };
  }

  static async create(options: ProjectOptions = {}): Promise<Project> {
    return new Project(await mkdtemp(join(tmpdir(), 'deskbell-journey-')), options);
  }

  /** For the scripts of a package in one of its folders, as npm runs them, with more variables in their environment. */
  within(folder: string, environment: Readonly<Record<string, string>>): Project {
    const PATH = [join(this.folder, 'node_modules/.bin'), this.#environment['PATH']].join(delimiter);
    return new Project(join(this.folder, folder), {
      environment: { ...this.#environment, PATH, ...environment },
    });
  }

  async write(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(this.folder, path)), { recursive: true });
    await writeFile(join(this.folder, path), content);
  }

  /** `npm install` of these packages, as the tester's own npm is configured. */
  async install(...packages: readonly string[]): Promise<void> {
    await this.write('package.json', '{ "private": true, "type": "module" }');
    await npmInstall(this.folder, packages);
  }

  /** `npm install --global`, with a directory of its own on the PATH. */
  async installGlobally(...packages: readonly string[]): Promise<void> {
    await npmInstall(this.folder, ['--global', '--prefix', join(this.folder, 'global'), ...packages]);
  }

  /**
   * Runs one line of shell to its end.
   *
   * @returns its standard output
   * @throws {Error} with its output where it exits with another code than 0
   */
  async run(line: string): Promise<string> {
    try {
      const options = { cwd: this.folder, env: this.#environment };
      return (await execute('sh', ['-c', line], options)).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`${line}\n${stdout}${stderr}`, { cause: error });
    }
  }

  /** Starts one line of shell that goes on until it is stopped. */
  start(line: string): RunningProgram {
    const options = { cwd: this.folder, env: this.#environment, detached: true };
    const child = spawn('sh', ['-c', `exec ${line}`], options);
    const exited = once(child, 'exit') as Promise<[number | null]>;
    const output = new EventEmitter();
    const lines: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (text) => {
        lines.push(text);
        output.emit('line');
      });
    }
    const stop = async (signal: NodeJS.Signals = 'SIGINT') => {
      // To its whole process group, as a terminal does.
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal);
      return (await exited)[0];
    };
    return {
      stop,
      async waitFor(pattern) {
        const ended = exited.then(() => Promise.reject(new Error(`${line} has ended:\n${lines.join('\n')}`)));
        for (;;) {
          const match = lines.map((text) => pattern.exec(text)).find((found) => found !== null);
          if (match) return match;
          await Promise.race([once(output, 'line'), ended]);
        }
      },
      [Symbol.asyncDispose]: async () => void (await stop()),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Whatever has been installed on this machine before comes from npm's cache. */
async function npmInstall(folder: string, words: readonly string[]): Promise<void> {
  await execute('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...words], { cwd: folder });
}
