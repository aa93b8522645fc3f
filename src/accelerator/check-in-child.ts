// Loads and checks an addon in a child process, where a crash does no harm. Results are cached by the file's hash.
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { ownCacheFolder } from './cache-folder.ts';

const child = fileURLToPath(new URL('./checking-child.ts', import.meta.url));
/** The files of the addon's self-check. Changing any of them invalidates cached results. */
const checkFiles = [
  child,
  fileURLToPath(new URL('./self-check.ts', import.meta.url)),
  fileURLToPath(new URL('./addon.ts', import.meta.url)),
];
/** The check usually takes less than a second, but took more than twenty on a busy emulated machine. */
const timeoutMs = 60_000;
/** Signals that mean the addon itself crashed. Other failures, such as a lack of memory, are not cached. */
const crashes: ReadonlySet<string | null> = new Set([
  'SIGILL',
  'SIGTRAP',
  'SIGSEGV',
  'SIGBUS',
  'SIGABRT',
  'SIGFPE',
]);
const passed = 'passed';

/**
 * Checks an addon, or returns the cached result of an earlier check.
 *
 * @param cacheFolder holds the results; if it is not writable, each process checks the file again
 * @returns why the addon must not be used; `undefined` if it can be used
 * @throws if the file cannot be read
 */
export function findFaultInChild(
  file: string,
  cacheFolder: string | undefined = ownCacheFolder(),
): string | undefined {
  const key = hashOf(file);
  const known = recall(key, cacheFolder);
  if (known !== undefined) return known === passed ? undefined : known;
  const { fault, isLasting } = check(file);
  if (isLasting) remember(key, cacheFolder, fault ?? passed);
  return fault;
}

/** The key of a cached result. The key changes with the addon, Node's version, the processor and the checks. */
function hashOf(file: string): string {
  const hash = createHash('sha256');
  hash.update(`${process.version} ${process.versions.openssl} ${cpus()[0]?.model ?? ''}\n`);
  for (const path of [file, ...checkFiles]) hash.update(readFileSync(path));
  return hash.digest('hex');
}

function check(file: string): { readonly fault: string | undefined; readonly isLasting: boolean } {
  // load lazily: most threads find a cached result and do not need child_process
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const { status, signal, stdout, stderr, error } = spawnSync(process.execPath, [child, file], {
    encoding: 'utf8',
    timeout: timeoutMs,
    windowsHide: true,
  });
  if (error !== undefined) {
    return { fault: `it could not be checked: ${error.message}`, isLasting: false };
  }
  if (status === 0) return { fault: stdout === '' ? undefined : stdout, isLasting: true };
  const end = signal ?? stderr.trim().split('\n', 1)[0];
  return { fault: `the check ended with ${end}`, isLasting: crashes.has(signal) };
}

function recall(key: string, cacheFolder: string | undefined): string | undefined {
  const here = getEnvironmentData(key);
  if (typeof here === 'string') return here;
  if (cacheFolder === undefined) return undefined;
  try {
    return readFileSync(join(cacheFolder, `accelerator-${key}`), 'utf8') || undefined;
  } catch {
    return undefined;
  }
}

function remember(key: string, cacheFolder: string | undefined, verdict: string): void {
  // pass the result on to the other threads of this process
  setEnvironmentData(key, verdict);
  if (cacheFolder === undefined) return;
  const file = join(cacheFolder, `accelerator-${key}`);
  // other processes must never read an incomplete result, such as an empty file when the disk is full
  const unfinished = `${file}.${randomUUID()}`;
  try {
    mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
    writeFileSync(unfinished, verdict, { mode: 0o600 });
    renameSync(unfinished, file);
  } catch {
    // without a cache, the addon can still be used
    rmSync(unfinished, { force: true });
  }
}
