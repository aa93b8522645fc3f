// Runs the real command, in this process or as one of its own, with nothing of the tester's environment that could change
// what it does.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { invocationOf } from '../../src/cli/output/invocation.ts';
import { createOutput } from '../../src/cli/output/output.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { until } from '../../tools/until.ts';
import { fastFolder } from '../../tools/fast-folder.ts';

export const mainFile = join(import.meta.dirname, '../../src/cli/main.cts');

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
}

export interface RunResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function startCommand(
  words: readonly string[],
  { environment = {}, cwd }: RunOptions = {},
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [mainFile, ...words], { env: { ...ownEnvironment(), ...environment }, cwd });
}

const ownEnvironment = (): Readonly<Record<string, string>> => {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  // what `npm test` has set, so that its types need not be stripped again for each command
  return { PATH, HOME, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) };
};

/** Runs the command in this process, as `runProcess` does in one of its own, which takes ten times as long. */
export async function runCommand(
  words: readonly string[],
  { environment = {}, input = '' }: Omit<RunOptions, 'cwd'> = {},
): Promise<RunResult> {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const { signal } = new AbortController();
  const output = createOutput(streams as unknown as NodeJS.Process, () => {});
  const running = runCommandLine(words, {
    invocation: invocationOf([process.execPath, mainFile], process.cwd()),
    environment: { ...ownEnvironment(), ...environment },
    input: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    output,
    stop: signal,
    stopPrinting: signal,
    onHangup: () => {},
  }).finally(() => {
    streams.stdout.end();
    streams.stderr.end();
  });
  const [stdout, stderr, exitCode] = await Promise.all([text(streams.stdout), text(streams.stderr), running]);
  return { exitCode, stdout, stderr };
}

/** Runs the command as a process of its own: for its exit code, its pipes, its folder and what belongs to the whole process. */
export async function spawnCommand(words: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const child = startCommand(words, options);
  // A command that ends before it has read its input is what some tests are about.
  child.stdin.on('error', () => {}).end(options.input ?? '');
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { exitCode, stdout, stderr };
}

export interface RunningCommand {
  readonly child: ChildProcessWithoutNullStreams;
  /** The first line of standard output that `pattern` matches. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** What it has written so far, to standard output and standard error. */
  written(): string;
  /** Sends `signal` and resolves to the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts a command that goes on until it is told to stop; it is stopped after the test at the latest. */
export function runUntilStopped(words: readonly string[], options: RunOptions = {}): RunningCommand {
  const child = startCommand(words, options);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return (await exited)[0];
  };
  after(() => end('SIGKILL'));
  return {
    child,
    end,
    written: () => `${lines.join('\n')}\n${complaints}`,
    waitFor: (pattern) =>
      until(
        () => {
          const match = lines.map((line) => pattern.exec(line)).find((found) => found !== null);
          if (match !== undefined) return match;
          if (child.exitCode !== null || child.signalCode !== null)
            throw new Error(`ended with ${child.exitCode ?? child.signalCode}: ${complaints}`);
          return undefined;
        },
        () => `${pattern} in\n${lines.join('\n')}\n${complaints}`,
      ),
  };
}

/** Starts `deskbell serve` on a port that is free, and waits until it listens. */
export async function serve(
  flags: readonly string[],
  options?: RunOptions,
): Promise<RunningCommand & { readonly address: string }> {
  const service = runUntilStopped(['serve', '--port', '0', ...flags], options);
  const [, address = ''] = await service.waitFor(/^Deskbell listens on (http:\S+) /);
  return { ...service, address };
}

/** What a command runs with that sends from `data` to a push service. */
export const environmentFor = (data: string, { origin }: { readonly origin: string }) => ({
  DESKBELL_DATA: data,
  DESKBELL_SUBJECT: 'mailto:push@example.org',
  DESKBELL_PUSH_SERVICES: origin,
  DESKBELL_THREADS: '1',
});

// oxlint-disable-next-line typescript/no-explicit-any
export const parseLines = (output: string): any[] =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);

/** A temporary folder that is removed after the test or suite that asks for it. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(fastFolder(), 'deskbell-cli-'));
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
