// Wraps the native addon (native/accelerator.c) as an `EncryptBatch`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DeskbellError } from '../errors/deskbell-error.ts';
import {
  checkEncryptionInput,
  type EncryptBatch,
  type MessageToEncrypt,
  offCurveError,
  resultOrFault,
} from '../protocol/message-encryption.ts';

export interface Addon {
  /**
   * Encrypts 1 to 64 messages, each under a fresh key pair and salt.
   *
   * @param bodies is filled with the bodies, one after the other; each is 103 bytes longer than its plaintext
   * @param plaintexts one for each message, at most 3993 bytes
   * @param keys p256dh(65) ‖ auth(16) for each message
   * @param usesMultiBuffer run eight key agreements at a time; needs `hasMultiBuffer`
   * @param fixed for test vectors only: salt(16) ‖ private key(32) for each message, used instead of fresh ones
   * @returns indices of the messages whose `p256dh` is not a point on P-256 (their bodies are zeros); `undefined` if
   *   there are none
   * @throws {TypeError | RangeError} if a type, length or private key is wrong, or `bodies` shares memory with an input
   */
  encryptBatch(
    bodies: Uint8Array,
    plaintexts: readonly Uint8Array[],
    keys: Uint8Array,
    usesMultiBuffer: boolean,
    fixed?: Uint8Array,
  ): readonly number[] | undefined;
  /** True if this build and this processor can run eight key agreements at a time. */
  hasMultiBuffer(): boolean;
  /**
   * Makes one key pair and one shared secret per message, and nothing else. Benchmarks use this as the upper bound.
   *
   * @param messages 1 to 1,000,000
   * @throws {TypeError | RangeError} for anything else
   */
  runEcOperations(messages: number, usesMultiBuffer: boolean): void;
}

/** The plaintext is preceded by salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65), and followed by delimiter(1) and tag(16). */
const overheadBytes = 86 + 1 + 16;
const keysBytes = 65 + 16;
const fixedBytes = 16 + 32;
const maxMessages = 64;

export interface AddonMethod {
  readonly addon: Addon;
  readonly usesMultiBuffer: boolean;
  /** For test vectors only: salt(16) ‖ private key(32) for each message. */
  readonly fixed?: Uint8Array;
}

/** Returns an `EncryptBatch` that uses the addon, with the same checks and errors as the builtin method. */
export function createAddonEncryptBatch(method: AddonMethod): EncryptBatch {
  return (messages) => {
    const results: (Uint8Array | DeskbellError)[] = [];
    for (let start = 0; start < messages.length; start += maxMessages) {
      encryptGroup(method, messages.slice(start, start + maxMessages), results);
    }
    return results;
  };
}

function encryptGroup(
  { addon, usesMultiBuffer, fixed }: AddonMethod,
  messages: readonly MessageToEncrypt[],
  results: (Uint8Array | DeskbellError)[],
): void {
  const first = results.length;
  const slots: number[] = [];
  const plaintexts: Uint8Array[] = [];
  const keys = Buffer.allocUnsafe(messages.length * keysBytes);
  let bodiesBytes = 0;
  for (const { plaintext, subscription } of messages) {
    // read each key only once, so that the checked key is the one that is used
    const { p256dh, auth } = subscription;
    const fault = resultOrFault(() => checkEncryptionInput(plaintext, { p256dh, auth }));
    results.push(fault ?? plaintext);
    if (fault !== undefined) continue;
    keys.set(p256dh, plaintexts.length * keysBytes);
    keys.set(auth, plaintexts.length * keysBytes + p256dh.length);
    slots.push(results.length - 1);
    plaintexts.push(plaintext);
    bodiesBytes += plaintext.length + overheadBytes;
  }
  const count = plaintexts.length;
  if (count === 0) return;

  const bodies = Buffer.allocUnsafeSlow(bodiesBytes);
  const usedKeys = keys.subarray(0, count * keysBytes);
  const usedFixed = fixed?.subarray(fixedBytes * first, fixedBytes * (first + count));
  const offCurveIndexes =
    usedFixed === undefined
      ? addon.encryptBatch(bodies, plaintexts, usedKeys, usesMultiBuffer)
      : addon.encryptBatch(bodies, plaintexts, usedKeys, usesMultiBuffer, usedFixed);
  let start = 0;
  for (const [index, slot] of slots.entries()) {
    const end = start + plaintexts[index]!.length + overheadBytes;
    results[slot] = bodies.subarray(start, end);
    start = end;
  }
  for (const index of offCurveIndexes ?? []) results[slots[index]!] = offCurveError();
}

// Finds the addon for this machine. Published and locally built addons are in the package's `prebuilds/` folder. An
// addon fits one platform, one C library and one major version of Node's OpenSSL.

const prebuilds = fileURLToPath(new URL('../../prebuilds', import.meta.url));

/** For example `linux-x64-glibc`, `linux-arm64-musl` or `darwin-arm64`. */
export function describePlatform(): string {
  const name = `${process.platform}-${process.arch}`;
  return process.platform === 'linux' ? `${name}-${usesMusl() ? 'musl' : 'glibc'}` : name;
}

export function opensslMajor(): string {
  return process.versions.openssl.split('.', 1)[0]!;
}

export function addonName(): string {
  return `accelerator-openssl${opensslMajor()}.node`;
}

/** The path of the addon for this machine. The file may not exist. */
export function addonFile(folder: string = prebuilds): string {
  return join(folder, describePlatform(), addonName());
}

/** Loads an addon. @throws {Error} if it cannot be loaded */
export function loadAddon(file: string): Addon {
  const module = { exports: {} };
  process.dlopen(module, file);
  return module.exports as Addon;
}

/** Looks for musl's loader among the mapped files. Node's report also says which libc is used, but takes 20 ms. */
function usesMusl(): boolean {
  try {
    return /\/ld-musl-|-linux-musl\/libc\.so$/m.test(readFileSync('/proc/self/maps', 'utf8'));
  } catch {
    return false;
  }
}
