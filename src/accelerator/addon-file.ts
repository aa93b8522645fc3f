// Where the addon for this machine is: `prebuilds/` of the package, whether it came with it or was built here. An addon
// fits one platform, one C library and one major version of the OpenSSL that Node carries.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const prebuilds = fileURLToPath(new URL('../../prebuilds/', import.meta.url));

/** Such as `linux-x64`, `linux-x64-musl` or `darwin-arm64`. */
export function describePlatform(): string {
  return `${process.platform}-${process.arch}${usesMusl() ? '-musl' : ''}`;
}

export function opensslMajor(): string {
  return process.versions.openssl.split('.', 1)[0]!;
}

/** The path of the addon for this machine, whether it is there or not. */
export function addonFile(): string {
  return join(prebuilds, describePlatform(), `accelerator-openssl${opensslMajor()}.node`);
}

/** Node's own report would say it too, and take 15 ms for it. */
function usesMusl(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return readFileSync('/proc/self/maps', 'utf8').includes('/ld-musl-');
  } catch {
    return false;
  }
}
