// The native addon as JavaScript sees it, and how it becomes an `EncryptBatch`. What it does is in
// native/accelerator.c.
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
   * @param bodies takes the bodies one after the other, each 103 bytes longer than its plaintext
   * @param plaintexts one for each message, at most 3993 bytes
   * @param keys p256dh(65) ‖ auth(16) of each message
   * @param usesMultiBuffer eight key agreements at a time, where `hasMultiBuffer`
   * @param fixed for test vectors: salt(16) ‖ private key(32) of each message instead of fresh ones
   * @returns the indices of the messages whose `p256dh` is not a point on P-256 and whose bodies are zero;
   *   `undefined` if there are none
   * @throws {TypeError | RangeError} for other types, lengths or private keys, or where `bodies` shares memory with what is read
   */
  encryptBatch(
    bodies: Uint8Array,
    plaintexts: readonly Uint8Array[],
    keys: Uint8Array,
    usesMultiBuffer: boolean,
    fixed?: Uint8Array,
  ): readonly number[] | undefined;
  /** Whether this build and this processor offer eight key agreements at a time. */
  hasMultiBuffer(): boolean;
  /**
   * One key pair and one shared secret per message, and nothing else: the limit that a benchmark compares with.
   *
   * @param messages 1 to 1,000,000
   * @throws {TypeError | RangeError} for anything else
   */
  runEcOperations(messages: number, usesMultiBuffer: boolean): void;
}

/** salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65) before, delimiter(1) and authentication tag(16) behind the plaintext. */
const overheadBytes = 86 + 1 + 16;
const keysBytes = 65 + 16;
const fixedBytes = 16 + 32;
const maxMessages = 64;

/** An addon, and which of its methods is used. */
export interface AddonMethod {
  readonly addon: Addon;
  readonly usesMultiBuffer: boolean;
  /** For test vectors: salt(16) ‖ private key(32) of each message. */
  readonly fixed?: Uint8Array;
}

/** The addon's `EncryptBatch`, with the builtin one's checks and errors. */
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
    // read once: what is checked is what is used
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

// Where the addon for this machine is: `prebuilds/` of the package, whether it came with it or was built here. An addon
// fits one platform, one C library and one major version of the OpenSSL that Node carries.

const prebuilds = fileURLToPath(new URL('../../prebuilds', import.meta.url));

/** Such as `linux-x64-glibc`, `linux-arm64-musl` or `darwin-arm64`. */
export function describePlatform(): string {
  const name = `${process.platform}-${process.arch}`;
  return process.platform === 'linux' ? `${name}-${usesMusl() ? 'musl' : 'glibc'}` : name;
}

export function opensslMajor(): string {
  return process.versions.openssl.split('.', 1)[0]!;
}

/** The name of the addon in the folder of its platform. */
export function addonName(): string {
  return `accelerator-openssl${opensslMajor()}.node`;
}

/** The path of the addon for this machine, whether it is there or not. */
export function addonFile(folder: string = prebuilds): string {
  return join(folder, describePlatform(), addonName());
}

/** @throws {Error} if it cannot be loaded */
export function loadAddon(file: string): Addon {
  const module = { exports: {} };
  process.dlopen(module, file);
  return module.exports as Addon;
}

/** Looks for the file of musl's loader. Node's own report has the answer too, but takes 20 ms. */
function usesMusl(): boolean {
  try {
    return /\/ld-musl-|-linux-musl\/libc\.so$/m.test(readFileSync('/proc/self/maps', 'utf8'));
  } catch {
    return false;
  }
}
