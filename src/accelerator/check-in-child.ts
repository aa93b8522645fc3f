// A file that is to be loaded into this process is first loaded and checked in another one: a crash there costs
// nothing. The verdict is remembered by the file's hash.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { ownCacheFolder } from './cache-folder.ts';

const child = fileURLToPath(new URL('./checking-child.ts', import.meta.url));
/** What the check is made of. */
const checkFiles = [
  child,
  fileURLToPath(new URL('./self-check.ts', import.meta.url)),
  fileURLToPath(new URL('./addon.ts', import.meta.url)),
];
/** It usually takes less than a second; more than twenty have been seen on a busy emulated machine. */
const timeoutMs = 60_000;
/** What a program dies of by its own doing; anything else (out of memory, a time-out) may not happen again. */
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
 * Checks an addon, or recalls what the check has found.
 *
 * @param cacheFolder where verdicts are remembered; where it cannot be written to, the file is checked once a process
 * @returns why the addon must not be used; `undefined` if it may
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

/** Another addon, another Node, another processor or another check: another verdict. */
function hashOf(file: string): string {
  const hash = createHash('sha256');
  hash.update(`${process.version} ${process.versions.openssl} ${cpus()[0]?.model ?? ''}\n`);
  for (const path of [file, ...checkFiles]) hash.update(readFileSync(path));
  return hash.digest('hex');
}

function check(file: string): { readonly fault: string | undefined; readonly isLasting: boolean } {
  // loaded here, because the verdict is usually known, and each thread would load it
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
    return readFileSync(join(cacheFolder, `accelerator-${key}`), 'utf8');
  } catch {
    return undefined;
  }
}

function remember(key: string, cacheFolder: string | undefined, verdict: string): void {
  // for the threads of this process
  setEnvironmentData(key, verdict);
  if (cacheFolder === undefined) return;
  try {
    mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
    writeFileSync(join(cacheFolder, `accelerator-${key}`), verdict, { mode: 0o600 });
  } catch {
    // a home that cannot be written to is no reason to go without
  }
}
