// Runs the real command, in this process or as one of its own, with nothing of the tester's environment that could change
// what it does.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { DataDirectory } from '../../src/cli/data/data-directory.ts';
import { runProcess, type Host } from '../../src/cli/run-process.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import type { PushService } from '../../src/push-service/index.ts';
import { until } from '../../tools/until.ts';
import { fastFolder } from '../../tools/fast-folder.ts';

export const mainFile = join(import.meta.dirname, '../../src/cli/main.cts');

/** Words of a command line; a text is split at its spaces. */
export type Words = string | readonly string[];

const listOf = (words: Words): readonly string[] => (typeof words === 'string' ? words.split(' ') : words);

interface Environment {
  readonly environment?: Readonly<Record<string, string>>;
}

interface ProcessOptions extends Environment {
  readonly cwd?: string;
}

export interface RunResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function startCommand(
  words: Words,
  { environment = {}, cwd }: ProcessOptions = {},
): ChildProcessWithoutNullStreams {
  const env = { ...ownEnvironment(), ...environment };
  return spawn(process.execPath, [mainFile, ...listOf(words)], { env, cwd });
}

const ownEnvironment = (): Readonly<Record<string, string>> => {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE } = process.env;
  // what `npm test` has set, so that its types need not be stripped again for each command
  return { PATH, HOME, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) };
};

/** A command that runs in this process, where signals are events of `host`. */
function runHere(
  words: Words,
  { environment = {} }: Environment,
  stdin: Readable,
  stdout: Writable = new PassThrough(),
) {
  const stderr = new PassThrough();
  const host = Object.assign(new EventEmitter(), {
    argv: [process.execPath, mainFile, ...listOf(words)],
    cwd: () => process.cwd(),
    env: { ...ownEnvironment(), ...environment },
    exitCode: undefined as number | undefined,
    stdin,
    stdout,
    stderr,
  });
  const ended = runProcess(host as unknown as Host).then(async () => {
    for (const stream of [stdout, stderr]) stream.end();
    // so that what was written last is read
    await setImmediate();
    return host.exitCode ?? 0;
  });
  return { host, ended };
}

/** Runs the command in this process, since one of its own takes ten times as long. */
export async function runCommand(
  words: Words,
  { input = '', ...options }: Environment & { readonly input?: string } = {},
): Promise<RunResult> {
  const stdout = new PassThrough();
  const { host, ended } = runHere(
    words,
    options,
    Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout,
  );
  const [exitCode, ...texts] = await Promise.all([ended, text(stdout), text(host.stderr)]);
  return { exitCode, stdout: texts[0], stderr: texts[1] };
}

export type Run = (words: Words, input?: string) => Promise<RunResult>;

/** Runs commands with these variables. */
export const commandsIn =
  (environment: Readonly<Record<string, string>>): Run =>
  (words, input = '') =>
    runCommand(words, { environment, input });

/** What a command prints that ends well. */
export async function outputOf(running: Promise<RunResult>): Promise<string> {
  const { exitCode, stdout, stderr } = await running;
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

/** Runs the command in this process, where nobody reads what it prints. */
export async function runUnread(words: Words, options: Environment): Promise<Omit<RunResult, 'stdout'>> {
  const unread = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('Nobody reads.'), { code: 'EPIPE' })),
  });
  const { host, ended } = runHere(words, options, Readable.from([]), unread);
  const [exitCode, stderr] = await Promise.all([ended, text(host.stderr)]);
  return { exitCode, stderr };
}

export interface RunningCommand {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The first line of standard output, and of the log of a `serve`, that `pattern` matches. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** What it has written so far, to standard output and standard error. */
  written(): string;
  send(signal: NodeJS.Signals): void;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
  /** Sends `signal` and resolves to the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts a command in this process that goes on until it is told to stop; it is stopped after the test at the latest. */
export function runUntilStopped(words: Words, options: Environment = {}): RunningCommand {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  // where no file is given, its records would be among what the tests print
  const logFile = join(mkdtempSync(join(fastFolder(), 'deskbell-log-')), 'records');
  after(() => rm(dirname(logFile), { recursive: true }));
  const environment = { DESKBELL_LOG_FILE: logFile, ...options.environment };
  const { host, ended } = runHere(words, { environment }, stdin, stdout);
  const readLog = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8').split('\n') : []);
  const { stderr } = host;
  const send = (signal: NodeJS.Signals) => void host.emit(signal, signal);
  const command = follow({ stdin, stdout, stderr, ended, send }, readLog);
  after(() => command.end());
  return command;
}

/** As `runUntilStopped`, in a process of its own. */
export function spawnUntilStopped(
  words: Words,
  options?: ProcessOptions,
): RunningCommand & { readonly child: ChildProcess } {
  const child = startCommand(words, options);
  const { stdin, stdout, stderr } = child;
  const command = follow({
    stdin,
    stdout,
    stderr,
    ended: once(child, 'exit').then(([exitCode]) => exitCode as number | null),
    send: (signal) => void child.kill(signal),
  });
  after(() => command.end('SIGKILL'));
  return { ...command, child };
}

function follow(
  command: Omit<RunningCommand, 'waitFor' | 'written' | 'end'>,
  readLog: () => readonly string[] = () => [],
): RunningCommand {
  const printed: string[] = [];
  createInterface(command.stdout).on('line', (line) => printed.push(line));
  const readLines = () => [...printed, ...readLog()];
  let complaints = '';
  command.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  let exitCode: number | null | undefined;
  void command.ended.then((code) => (exitCode = code));
  const written = (): string => `${readLines().join('\n')}\n${complaints}`;
  return {
    ...command,
    written,
    async end(signal = 'SIGTERM') {
      command.send(signal);
      return command.ended;
    },
    waitFor: (pattern) =>
      until(
        () => {
          const match = readLines()
            .map((line) => pattern.exec(line))
            .find((found) => found !== null);
          if (match !== undefined) return match;
          if (exitCode !== undefined) throw new Error(`ended with ${exitCode}: ${complaints}`);
          return undefined;
        },
        () => `${pattern} in\n${written()}`,
      ),
  };
}

/** Starts `deskbell serve` in this process on a port that is free, and waits until it listens. */
export async function serve(
  flags: Words,
  options?: Environment,
): Promise<RunningCommand & { readonly address: string }> {
  const service = runUntilStopped(['serve', '--port', '0', ...listOf(flags)], options);
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

/** A data directory of which keys are all that there is, and the commands on it, which may send to `pushService`. */
export async function newData(pushService?: { readonly origin: string }) {
  const data = await temporaryFolder();
  const environment = pushService ? environmentFor(data, pushService) : { DESKBELL_DATA: data };
  const run = commandsIn(environment);
  const [{ publicKey }] = parseLines(await outputOf(run('keys generate --json')));
  return { data, environment, run, publicKey: publicKey as string };
}

/** A data directory with so many sinks of a push service. @returns `lines`: each of them as JSON */
export async function dataWithSinks(pushService: PushService, count: number) {
  const { publicKey: vapidPublicKey, ...made } = await newData(pushService);
  const lines = Array.from(pushService.createSinks(count, { vapidPublicKey }), (sink) =>
    JSON.stringify(sink),
  );
  await outputOf(made.run('subscriptions import -', lines.join('\n')));
  return { ...made, lines };
}

/** Stores so many sinks of a push service, without a command. */
export async function storeSinks(
  { store, vapidKeys }: DataDirectory,
  pushService: PushService,
  count: number,
) {
  const { publicKey: vapidPublicKey } = vapidKeys;
  const policy = createEndpointPolicy([pushService.origin]);
  const sinks = [...pushService.createSinks(count, { vapidPublicKey })];
  await store.subscriptions.putAll(
    sinks.map((sink) => ({ subscription: parseSubscription(sink, policy), vapidPublicKey })),
  );
  return sinks;
}

/** Changes the SQLite database of a data directory, which others may use meanwhile. */
export function changeDatabase(data: string, sql: string): void {
  using database = new DatabaseSync(join(data, 'deskbell.db'), { timeout: 60_000 });
  database.exec(sql);
}

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
