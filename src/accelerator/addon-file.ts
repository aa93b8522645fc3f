// Where the addon for this machine is: `prebuilds/` of the package, whether it came with it or was built here. An addon
// fits one platform, one C library and one major version of the OpenSSL that Node carries.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Addon } from './addon.ts';

const prebuilds = fileURLToPath(new URL('../../prebuilds/', import.meta.url));

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

/** @throws {Error} where it cannot be loaded */
export function loadAddon(file: string): Addon {
  const module = { exports: {} };
  process.dlopen(module, file);
  return module.exports as Addon;
}

/** By the loader's file: as Alpine names it, or as Debian does. Node's own report would say it too, and take 20 ms for it. */
function usesMusl(): boolean {
  try {
    return /\/ld-musl-|-linux-musl\/libc\.so$/m.test(readFileSync('/proc/self/maps', 'utf8'));
  } catch {
    return false;
  }
}
